package main

import (
	"sort"
	"time"
)

// atHome stands for the place a message's flavour gives it.
const atHome = "home"

// message is one mail on the server. It is in one place at most; `labels` are the owner's own, the star is kept apart.
type message struct {
	id, key string
	raw     []byte // with CRLF
	flags   set    // Proton's: received, sent, draft, scheduled, replied, forwarded
	place   string // atHome, a label id, or nothing: an orphan
	labels  set
	starred bool
	unread  bool
	time    time.Time
	address string
	origin  string // delivered, imported, appended
}

func (m *message) isDraft() bool {
	return !m.flags.has("received") && !m.flags.has("sent") && !m.flags.has("scheduled")
}

func (m *message) home() string {
	switch {
	case m.flags.has("scheduled"):
		return scheduled
	case m.flags.has("received"):
		return inbox
	case m.flags.has("sent"):
		return sent
	default:
		return drafts
	}
}

// labelIDs are all the labels the API shows on it.
func (m *message) labelIDs() []string {
	shown := []string{allMail}
	if m.flags.has("sent") || m.flags.has("scheduled") {
		shown = append(shown, allSent)
	}
	if m.isDraft() {
		shown = append(shown, allDrafts)
	}
	switch m.place {
	case "":
	case atHome:
		shown = append(shown, m.home())
	default:
		shown = append(shown, m.place)
	}
	if m.starred {
		shown = append(shown, starred)
	}
	return append(shown, sorted(m.labels)...)
}

// copied is a message nobody else changes.
func (m *message) copied() *message {
	twin := *m
	twin.flags, twin.labels = set{}, set{}
	for flag := range m.flags {
		twin.flags[flag] = struct{}{}
	}
	for label := range m.labels {
		twin.labels[label] = struct{}{}
	}
	return &twin
}

func sorted(values set) []string {
	list := make([]string, 0, len(values))
	for value := range values {
		list = append(list, value)
	}
	sort.Strings(list)
	return list
}
