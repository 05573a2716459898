package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"regexp"
	"strings"
	"time"

	"github.com/ProtonMail/gluon/rfc5322"
	"github.com/ProtonMail/gluon/rfc822"
)

const internalDomain = "protonmail.internalid"

// birthday of RFC 822 stands for a time that makes no sense.
var birthday = time.Date(1982, 8, 13, 0, 0, 0, 0, time.UTC)

// fromLine is a line that Bridge loses of what was in the account before it came.
var fromLine = regexp.MustCompile(`(?m)^>?From [^\n]*(?:\n|\z)`)

// emptyText is what Bridge adds to a message in which it finds no body.
const emptyText = "Content-Transfer-Encoding: quoted-printable\r\nContent-Type: text/plain;charset=utf8\r\n\r\n"

// outerFields are those that the API knows of a message kept whole.
var outerFields = []string{
	"Received", "Date", "Subject", "To", "From", "Content-Type", "Mime-Version", "Message-Id",
}

// stored is a message as the API hands it out: metadata, one body, files; or the original (`whole`), kept as it came.
type stored struct {
	header               []field
	subject, externalID  string
	from                 *mail.Address
	to, cc, bcc, replyTo []*mail.Address
	content              content
	whole                []byte
}

// literal is what Bridge serves for a message: built anew from what the API holds, never the original.
// The engine itself puts its own id on top.
func literal(m *message) []byte {
	kept := storedOf(m)
	top := kept.headerOf(m.id, m.time)
	if kept.whole != nil {
		return keptWhole(top, kept.whole)
	}
	body := kept.content.body
	if m.origin != "appended" {
		body = fromLine.ReplaceAll(body, nil)
	}
	if len(kept.content.files) == 0 {
		setTextType(top, kept.content.media)
		return append(finished(top), quoted(body)...)
	}
	outer := boundary(m.id, "mixed")
	top.remove("Content-Transfer-Encoding")
	top.set("Content-Type", "multipart/mixed; boundary="+outer)
	return append(finished(top), mixed(kept.content, body, outer, boundary(m.id, "related"))...)
}

// subjectOf is the subject as the API has it.
func subjectOf(m *message) string { return storedOf(m).subject }

func storedOf(m *message) stored {
	section := rfc822.Parse(m.raw)
	found := metadata(section)
	switch {
	case m.isDraft():
		return composed(found, section, m)
	case m.origin == "delivered":
		found.subject = readable(found.subject)
		found.content = contentOfDelivery(section)
		if len(found.replyTo) == 0 && found.from != nil {
			found.replyTo = []*mail.Address{found.from}
		}
		return found
	case m.origin == "appended" && !hasBody(section):
		raw := withEmptyText(section, boundary(m.id, "appended")[:60])
		return imported(metadata(rfc822.Parse(raw)), raw)
	default:
		return imported(found, m.raw)
	}
}

// composed is a draft: only what Proton's composer knows is kept. An appended one is from the account itself.
func composed(found stored, section *rfc822.Section, m *message) stored {
	found.subject, found.replyTo = readable(found.subject), nil
	found.content = contentOfDelivery(section)
	if m.origin == "appended" {
		found.from = &mail.Address{Name: m.address, Address: m.address}
	}
	found.header = []field{{"Subject", mime.QEncoding.Encode("utf-8", found.subject), true}}
	add := func(name, value string) {
		if value != "" {
			found.header = append(found.header, field{name, value, true})
		}
	}
	if found.from != nil {
		add("From", found.from.String())
	}
	add("To", printed(found.to))
	add("Cc", printed(found.cc))
	add("Bcc", printed(found.bcc))
	add("Content-Type", found.content.media)
	add("Date", rfc1123(m.time))
	if found.externalID != "" {
		add("Message-Id", "<"+found.externalID+">")
	}
	return found
}

// imported is kept whole if it has several texts or is signed or encrypted.
func imported(found stored, raw []byte) stored {
	section := rfc822.Parse(raw)
	if countTexts(section) <= 1 && !isProtected(section) {
		found.content = contentOfImport(section)
		return found
	}
	var outer []field
	for _, wanted := range outerFields {
		for _, one := range found.header {
			if strings.EqualFold(one.name, wanted) {
				outer = append(outer, field{canonical(one.name), one.value, true})
			}
		}
	}
	if h := newHeader(outer); len(outer) > 0 {
		if _, has := h.get("Mime-Version"); !has {
			outer = append(outer, field{"Mime-Version", "1.0", true})
		}
	}
	found.header, found.cc, found.bcc, found.replyTo, found.whole = outer, nil, nil, nil, raw
	return found
}

func metadata(section *rfc822.Section) stored {
	found := stored{header: gathered(section)}
	last := map[string]string{} // of a field given twice the API knows the last
	for _, one := range found.header {
		last[strings.ToLower(one.name)] = one.value
	}
	if senders := people(last["from"]); len(senders) > 0 {
		found.from = senders[0]
	}
	found.subject = last["subject"]
	found.to, found.cc, found.bcc = people(last["to"]), people(last["cc"]), people(last["bcc"])
	found.replyTo = people(last["reply-to"])
	id := strings.TrimPrefix(strings.TrimSpace(last["message-id"]), "<")
	found.externalID = strings.TrimSuffix(id, ">")
	return found
}

func people(value string) []*mail.Address {
	if value == "" {
		return nil
	}
	list, err := rfc5322.ParseAddressList(value)
	if err != nil {
		return nil
	}
	return list
}

func printed(list []*mail.Address) string {
	words := make([]string, len(list))
	for i, one := range list {
		words[i] = one.String()
	}
	return strings.Join(words, ", ")
}

// headerOf is the header up to its Content fields; each field set stands above those set before.
func (s stored) headerOf(id string, at time.Time) *header {
	h := newHeader(s.header)
	if s.subject != "" {
		h.setIfOther("Subject", mime.QEncoding.Encode("utf-8", s.subject))
	}
	if s.from != nil {
		h.setIfOther("From", s.from.String())
	}
	for _, one := range []struct {
		name string
		list []*mail.Address
	}{{"Reply-To", s.replyTo}, {"To", s.to}, {"Cc", s.cc}, {"Bcc", s.bcc}} {
		if len(one.list) > 0 {
			h.setIfOther(one.name, printed(one.list))
		}
	}
	if known, _ := h.get("Message-Id"); known == "" {
		own := s.externalID
		if own == "" {
			own = id + "@" + internalDomain
		}
		h.set("Message-Id", "<"+own+">")
	}
	setDate(h, at)
	h.set("X-Pm-Internal-Id", id)
	h.remove("X-Pm-External-Id")
	if s.externalID != "" {
		h.set("X-Pm-External-Id", "<"+s.externalID+">")
	}
	h.set("X-Pm-Date", rfc1123(at))
	if references, _ := h.get("References"); !strings.Contains(references, id) {
		h.set("References", strings.TrimSpace(fmt.Sprintf("%s <%s@%s>", references, id, internalDomain)))
	}
	return h
}

// setDate replaces a date that can't be read or lies before 1970.
func setDate(h *header, at time.Time) {
	value, _ := h.get("Date")
	found, err := rfc5322.ParseDateTime(value)
	if err == nil && found.Unix() >= 0 {
		return
	}
	if at.Unix() <= 0 {
		at = birthday
	}
	h.set("Date", rfc1123(at))
	if _, has := h.get("X-Original-Date"); !has {
		if err != nil {
			found = time.Time{}
		}
		h.set("X-Original-Date", rfc1123(found))
	}
}

func rfc1123(at time.Time) string { return at.UTC().Format(time.RFC1123Z) }

func setTextType(h *header, media string) {
	h.set("Content-Type", mime.FormatMediaType(media, map[string]string{"charset": "utf-8"}))
	h.set("Content-Transfer-Encoding", "quoted-printable")
}

func finished(h *header) []byte {
	if _, has := h.get("Mime-Version"); !has {
		h.set("Mime-Version", "1.0")
	}
	return h.bytes()
}

// keptWhole puts the original's body under Bridge's header, which takes over what it lacks.
func keptWhole(h *header, whole []byte) []byte {
	inner := rfc822.Parse(whole)
	h.remove("Content-Type")
	if parsed, err := inner.ParseHeader(); err == nil {
		parsed.Entries(func(name, value string) {
			_, has := h.get(name)
			if name != "" && (!has || strings.HasPrefix(strings.ToLower(name), "content-")) {
				h.set(canonical(name), value)
			}
		})
	}
	return append(finished(h), inner.Body()...)
}

func mixed(kept content, body []byte, outer, related string) []byte {
	h := &header{}
	setTextType(h, kept.media)
	first := append(h.bytes(), quoted(body)...)
	var inline, others [][]byte
	for _, file := range kept.files {
		if file.disposition == "inline" {
			inline = append(inline, file.part())
		} else {
			others = append(others, file.part())
		}
	}
	if len(inline) > 0 {
		h = &header{}
		h.set("Content-Type", "multipart/related; boundary="+related)
		first = append(h.bytes(), joined(append([][]byte{first}, inline...), related)...)
	}
	return joined(append([][]byte{first}, others...), outer)
}

func (file attachment) part() []byte {
	name := mime.QEncoding.Encode("utf-8", file.name)
	h := &header{}
	if file.contentID != "" {
		h.set("Content-Id", file.contentID)
	}
	h.set("Content-Type", mime.FormatMediaType(file.media, map[string]string{"filename": name, "name": name}))
	h.set("Content-Disposition", mime.FormatMediaType(file.disposition, map[string]string{"filename": name}))
	if file.media == "message/rfc822" {
		return append(h.bytes(), file.content...)
	}
	h.set("Content-Transfer-Encoding", "base64")
	return append(h.bytes(), base64Lines(file.content)...)
}

func base64Lines(plain []byte) []byte {
	coded := base64.StdEncoding.EncodeToString(plain)
	var lines []string
	for ; len(coded) > softLine; coded = coded[softLine:] {
		lines = append(lines, coded[:softLine])
	}
	return []byte(strings.Join(append(lines, coded), "\r\n"))
}

func quoted(plain []byte) []byte {
	var out bytes.Buffer
	writer := quotedprintable.NewWriter(&out)
	_, _ = writer.Write(plain) // a buffer takes everything
	_ = writer.Close()
	return out.Bytes()
}

func joined(pieces [][]byte, boundary string) []byte {
	var out bytes.Buffer
	for _, piece := range pieces {
		fmt.Fprintf(&out, "--%s\r\n%s\r\n", boundary, piece)
	}
	fmt.Fprintf(&out, "--%s--\r\n", boundary)
	return out.Bytes()
}

// boundary has 64 hexadecimal digits that depend on the message alone.
func boundary(id, use string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(use+" "+id))) }

// hasBody is Bridge's notion: a text, or a mixed multipart with a text in it that isn't given a disposition.
func hasBody(section *rfc822.Section) bool {
	if strings.HasPrefix(mediaOf(section), "text/") {
		return true
	}
	if mediaOf(section) != "multipart/mixed" {
		return false
	}
	for _, child := range parts(section) {
		if strings.HasPrefix(mediaOf(child), "text/") && valueOf(child, "Content-Disposition") == "" {
			return true
		}
	}
	return false
}

func withEmptyText(section *rfc822.Section, line string) []byte {
	inner := [][]byte{}
	own, moved := newHeader(nil), newHeader(nil)
	if parsed, err := section.ParseHeader(); err == nil {
		var ownFields, movedFields []field
		parsed.Entries(func(name, value string) {
			switch {
			case name == "":
			case strings.HasPrefix(strings.ToLower(name), "content-"):
				movedFields = append(movedFields, field{name: canonical(name), value: value})
			default:
				ownFields = append(ownFields, field{name: name, value: value, verbatim: true})
			}
		})
		own, moved = newHeader(ownFields), newHeader(movedFields)
	}
	if mediaOf(section) == "multipart/mixed" {
		_, parameters, _ := section.ContentType()
		line = parameters["boundary"]
		for _, child := range parts(section) {
			inner = append(inner, child.Literal())
		}
	} else {
		inner = append(inner, append(moved.bytes(), rewritten(section)...))
	}
	own.set("Content-Type", "multipart/mixed; boundary="+line)
	return append(own.bytes(), joined(append(inner, []byte(emptyText)), line)...)
}

// rewritten is a body without what stands before and after the parts of a multipart.
func rewritten(section *rfc822.Section) []byte {
	children := parts(section)
	if len(children) == 0 {
		return section.Body()
	}
	var inner [][]byte
	for _, child := range children {
		inner = append(inner, child.Literal())
	}
	_, parameters, _ := section.ContentType()
	return joined(inner, parameters["boundary"])
}
