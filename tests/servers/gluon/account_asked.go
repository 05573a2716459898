package main

import (
	"sort"
	"strings"
	"time"

	"github.com/ProtonMail/gluon/imap"
)

// What the others ask of an account: a test, the connector, the event loop.

type messageState struct {
	ID      string   `json:"id"`
	In      []string `json:"in"`
	Flags   []string `json:"flags"`
	Unread  bool     `json:"unread"`
	Subject string   `json:"subject"`
	Time    string   `json:"time"`
}

// state is each message by its key (or id): where it is, its flags, unread, subject.
func (a *account) state() map[string]messageState {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := map[string]messageState{}
	for id, m := range a.messages {
		name := m.key
		if name == "" {
			name = id
		}
		in := make([]string, 0, 4)
		for _, labelID := range m.labelIDs() {
			if own, known := systemNames[labelID]; known {
				in = append(in, own)
			} else {
				in = append(in, strings.Join(a.path(a.labels[labelID]), "/"))
			}
		}
		sort.Strings(in)
		flags := make([]string, 0, 2)
		for _, flag := range sorted(m.flags) {
			if flag != "draft" {
				flags = append(flags, flag)
			}
		}
		told[name] = messageState{id, in, flags, m.unread, subjectOf(m), m.time.UTC().Format(time.RFC3339)}
	}
	return told
}

func (a *account) hasFolder(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	own, known := a.labels[id]
	return known && own.folder
}

// oldestFirst are these messages in the order they came into the account.
func (a *account) oldestFirst(ids []imap.MessageID) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := setOf(plain(ids)...)
	var ordered []string
	for _, id := range a.order {
		if asked.has(id) {
			ordered = append(ordered, id)
		}
	}
	return ordered
}

// parentID is the id of the label at a path; none for no path.
func (a *account) parentID(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	parent, err := a.labelAt(path)
	if err != nil {
		return "", err
	}
	return parent.id, nil
}

// sender is the account's own address of that name, whatever its case; else the primary one.
func (a *account) sender(named string, disabledToo bool) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, own := range a.addresses {
		if strings.EqualFold(own, named) && (disabledToo || !a.disabled.has(own)) {
			return own
		}
	}
	return a.addresses[0]
}

func (a *account) isRevoked() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.revoked
}

// since is the log from an entry on, and where it ends now.
func (a *account) since(entry int) ([]change, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]change(nil), a.log[entry:]...), len(a.log)
}

// mailboxes are the owner's own, as the engine is told of them.
func (a *account) mailboxes() []imap.Mailbox {
	a.mu.Lock()
	defer a.mu.Unlock()
	var made []imap.Mailbox
	for _, own := range a.sortedLabels() {
		made = append(made, mailbox(own.id, a.path(own)))
	}
	return made
}

// family is a label with everything below it.
func (a *account) family(id string) []imap.Mailbox {
	a.mu.Lock()
	defer a.mu.Unlock()
	var made []imap.Mailbox
	for _, own := range a.sortedLabels() {
		for up := own; up != nil; up = a.labels[up.parent] {
			if up.id == id {
				made = append(made, mailbox(own.id, a.path(own)))
			}
		}
	}
	return made
}
