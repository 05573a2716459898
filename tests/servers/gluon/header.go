package main

import (
	"net/textproto"
	"strings"

	"github.com/ProtonMail/gluon/rfc822"
)

const (
	softLine = 76
	hardLine = 998
)

type field struct {
	name, value string
	verbatim    bool // never folded
}

// header is changed the way Bridge changes one: a field set anew moves to the top, all others stay as they were.
type header struct{ bottomUp []field }

func (h *header) get(name string) (string, bool) {
	for i := len(h.bottomUp) - 1; i >= 0; i-- {
		if strings.EqualFold(h.bottomUp[i].name, name) {
			return h.bottomUp[i].value, true
		}
	}
	return "", false
}

func (h *header) set(name, value string) {
	h.remove(name)
	h.bottomUp = append(h.bottomUp, field{name: name, value: value})
}

// setIfOther leaves a field that has the value already where it is.
func (h *header) setIfOther(name, value string) {
	if now, found := h.get(name); !found || now != value {
		h.set(name, value)
	}
}

func (h *header) remove(name string) {
	kept := h.bottomUp[:0:0]
	for _, one := range h.bottomUp {
		if !strings.EqualFold(one.name, name) {
			kept = append(kept, one)
		}
	}
	h.bottomUp = kept
}

// bytes ends with the empty line.
func (h *header) bytes() []byte {
	var out strings.Builder
	for i := len(h.bottomUp) - 1; i >= 0; i-- {
		one := h.bottomUp[i]
		if one.verbatim {
			out.WriteString(one.name + ": " + one.value + "\r\n")
		} else {
			out.WriteString(fold(one.name, one.value))
		}
	}
	out.WriteString("\r\n")
	return []byte(out.String())
}

func newHeader(topDown []field) *header {
	made := &header{}
	for i := len(topDown) - 1; i >= 0; i-- {
		made.bottomUp = append(made.bottomUp, topDown[i])
	}
	return made
}

// gathered are fields as Proton's API hands them out: unfolded, valid UTF-8, those of one spelling together.
func gathered(section *rfc822.Section) []field {
	parsed, err := section.ParseHeader()
	if err != nil {
		return nil
	}
	var names []string
	values := map[string][]string{}
	parsed.Entries(func(name, value string) {
		if name == "" {
			return
		}
		if _, known := values[name]; !known {
			names = append(names, name)
		}
		values[name] = append(values[name], valid(value))
	})
	var all []field
	for _, name := range names {
		for _, value := range values[name] {
			all = append(all, field{name, value, true})
		}
	}
	return all
}

// valid puts U+FFFD for each byte that isn't UTF-8, which is what JSON leaves of it.
func valid(text string) string { return string([]rune(text)) }

// fold breaks a field at blanks before column 77 where there are any.
func fold(name, value string) string {
	line, used, out := name+": ", len(name)+2, ""
	if value == "" {
		return line + "\r\n"
	}
	for value != "" {
		cut := blankBefore(value, softLine-used)
		if cut == 0 {
			cut = blankBefore(value, hardLine-used)
		}
		if cut == 0 {
			cut = hardLine - used - 1
		}
		out += line + value[:cut] + "\r\n"
		value, used, line = value[cut:], 0, " "
		if strings.HasPrefix(value, " ") || strings.HasPrefix(value, "\t") {
			line = ""
		}
	}
	return out
}

// blankBefore is where a line of at most `room` bytes ends; 0 if there is no blank to break at.
func blankBefore(value string, room int) int {
	if len(value) <= room {
		return len(value)
	}
	return max(strings.LastIndexAny(value[:max(room+1, 0)], " \t"), 0)
}

func canonical(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }
