package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// label is a folder or label the owner made.
type label struct {
	id, name, parent string
	folder           bool
}

// change is an entry of the account's log. `what`: message, label, refresh; `how`: created, updated, edited, deleted.
type change struct{ what, id, how string }

// account is one person's mail as Proton's servers keep it; every change is logged for the event loop.
//
// There are two models of it. The fake one (go-proton-api's) keeps labels and star of whatever moves; the real one
// takes both from what comes to Trash or Spam, and marks read what comes to Trash.
type account struct {
	name string
	real bool

	mu        sync.Mutex
	addresses []string // the first is the primary one
	disabled  set
	revoked   bool
	labels    map[string]*label
	messages  map[string]*message
	order     []string // message ids, oldest first
	log       []change
}

func newAccount(name string, addresses []string, real bool) *account {
	return &account{
		name: name, real: real, addresses: addresses, disabled: set{},
		labels: map[string]*label{}, messages: map[string]*message{},
	}
}

func (a *account) note(what, id, how string) { a.log = append(a.log, change{what, id, how}) }

// -- labels

func (a *account) addLabel(name, parentPath string, folder bool) (*label, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	made := &label{id: uuid.NewString(), name: name, folder: folder}
	if parentPath != "" {
		parent, err := a.labelAt(parentPath)
		if err != nil {
			return nil, err
		}
		made.parent = parent.id
	}
	if a.taken(name, made.parent, "") {
		return nil, errTaken
	}
	a.labels[made.id] = made
	a.note("label", made.id, "created")
	return made, nil
}

func (a *account) changeLabel(id, name, parent string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, known := a.labels[id]
	if !known {
		return refused{422, "422 Unprocessable Entity", 0}
	}
	if a.taken(name, parent, id) {
		return errTaken
	}
	found.name, found.parent = name, parent
	a.note("label", id, "updated")
	return nil
}

// deleteLabel takes a folder's subfolders along; mail in them loses that place and nothing else.
func (a *account) deleteLabel(id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.labels[id]; !known {
		return refused{400, "400 Bad Request", 0}
	}
	a.dropLabel(id)
	return nil
}

func (a *account) dropLabel(id string) {
	for _, child := range a.sortedLabels() {
		if child.parent == id {
			a.dropLabel(child.id)
		}
	}
	delete(a.labels, id)
	for _, message := range a.messages {
		if message.place == id {
			message.place = ""
		}
		delete(message.labels, id)
	}
	a.note("label", id, "deleted")
}

// taken says whether the server refuses a name: a sibling's, or at the top one of its own.
func (a *account) taken(name, parent, but string) bool {
	for _, other := range a.labels {
		if other.id != but && other.parent == parent && other.name == name {
			return true
		}
	}
	if parent != "" {
		return false
	}
	for _, own := range systemNames {
		if own == name {
			return true
		}
	}
	return false
}

func (a *account) labelAt(path string) (*label, error) {
	for _, found := range a.labels {
		if strings.Join(a.path(found), "/") == path {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s has no label %q", a.name, path)
}

// path is a label's way from its node. A slash in a name divides it, as it does in Bridge.
func (a *account) path(of *label) []string {
	path := strings.Split(of.name, "/")
	for parent := a.labels[of.parent]; parent != nil; parent = a.labels[parent.parent] {
		path = append(strings.Split(parent.name, "/"), path...)
	}
	if of.folder {
		return append([]string{foldersNode}, path...)
	}
	return append([]string{labelsNode}, path...)
}

// paths are those of all labels.
func (a *account) paths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := []string{}
	for _, one := range a.labels {
		found = append(found, strings.Join(a.path(one), "/"))
	}
	return found
}

// sortedLabels: labels before folders, then by path; a parent comes before its children.
func (a *account) sortedLabels() []*label {
	list := make([]*label, 0, len(a.labels))
	for _, one := range a.labels {
		list = append(list, one)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].folder != list[j].folder {
			return list[j].folder
		}
		return strings.Join(a.path(list[i]), "/") < strings.Join(a.path(list[j]), "/")
	})
	return list
}

// labelID finds the id behind `inbox`, `all mail`, `starred`, `Folders/Work`.
func (a *account) labelID(name string) (string, error) {
	plain := strings.ReplaceAll(strings.ToLower(name), " ", "")
	for id, own := range systemNames {
		if strings.ReplaceAll(strings.ToLower(own), " ", "") == plain {
			return id, nil
		}
	}
	found, err := a.labelAt(name)
	if err != nil {
		return "", err
	}
	return found.id, nil
}

// -- messages

// add puts a new message in; `places` are names.
func (a *account) add(made *message, places []string) (*message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	made.id, made.labels = uuid.NewString(), set{}
	if made.address == "" {
		made.address = a.addresses[0]
	}
	for _, name := range places {
		id, err := a.labelID(name)
		if err != nil {
			return nil, err
		}
		a.put(made, id)
	}
	a.messages[made.id] = made
	a.order = append(a.order, made.id)
	a.note("message", made.id, "created")
	return made, nil
}

// accept is an import by Bridge: the message with its label and, if wanted, its star in one go.
func (a *account) accept(made *message, labelID string, star bool) *message {
	a.mu.Lock()
	defer a.mu.Unlock()
	made.id, made.labels, made.starred = uuid.NewString(), set{}, star
	a.put(made, labelID)
	a.strip(made)
	a.messages[made.id] = made
	a.order = append(a.order, made.id)
	a.note("message", made.id, "created")
	return made.copied()
}

// label is the API's label call: to a place it moves, to a label or the star it adds.
// Unknown messages and labels are passed over in silence.
func (a *account) label(ids []string, labelID string) {
	a.each(ids, func(m *message) {
		a.put(m, labelID)
		a.strip(m)
	})
}

// unlabel from its place leaves a message in no place. A home is left whichever of the homes is named.
func (a *account) unlabel(ids []string, labelID string) {
	a.each(ids, func(m *message) {
		switch {
		case homes.has(labelID):
			if m.place == atHome {
				m.place = ""
			}
		case labelID == starred:
			m.starred = false
		case m.place == labelID:
			m.place = ""
		default:
			delete(m.labels, labelID)
		}
	})
}

func (a *account) setRead(ids []string, read bool) {
	a.each(ids, func(m *message) { m.unread = !read })
}

func (a *account) setFlag(ids []string, flag string, on bool) {
	a.each(ids, func(m *message) {
		if on {
			m.flags[flag] = struct{}{}
		} else {
			delete(m.flags, flag)
		}
	})
}

// delete removes for good; it says whether any of them existed.
func (a *account) delete(ids []string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	any := false
	for _, id := range ids {
		if _, known := a.messages[id]; known {
			delete(a.messages, id)
			a.note("message", id, "deleted")
			any = true
		}
	}
	return any
}

// edit gives a message another text, as Proton's apps do to a draft. `quietly` is for a draft still being made.
func (a *account) edit(id string, raw []byte, quietly bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m, known := a.messages[id]; known {
		m.raw = raw
		if !quietly {
			a.note("message", id, "edited")
		}
	}
}

func (a *account) each(ids []string, do func(*message)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		if m, known := a.messages[id]; known {
			do(m)
			a.note("message", id, "updated")
		}
	}
}

func (a *account) put(m *message, labelID string) {
	own, known := a.labels[labelID]
	switch {
	case homes.has(labelID):
		m.place = atHome
	case labelID == starred:
		m.starred = true
	case fixedPlaces.has(labelID) || (known && own.folder):
		m.place = labelID
	case known:
		m.labels[labelID] = struct{}{}
	}
}

func (a *account) strip(m *message) {
	if a.real && (m.place == trash || m.place == spam) {
		m.labels, m.starred = set{}, false
		m.unread = m.unread && m.place != trash
	}
}

// get is a copy of a message, nil if there is none.
func (a *account) get(id string) *message {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m, known := a.messages[id]; known {
		return m.copied()
	}
	return nil
}

// find is the id of a message by its key or id.
func (a *account) find(key string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.messages[key]; known {
		return key, nil
	}
	for _, id := range a.order {
		if m, known := a.messages[id]; known && m.key == key {
			return id, nil
		}
	}
	return "", fmt.Errorf("%s has no message %q", a.name, key)
}

// newest lists the ids of the messages of one address (all of them for ""), the one made last first.
func (a *account) newest(address string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for i := len(a.order) - 1; i >= 0; i-- {
		if m, known := a.messages[a.order[i]]; known && (address == "" || m.address == address) {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// -- addresses

func (a *account) setAddress(address string, enabled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := false
	for _, one := range a.addresses {
		known = known || one == address
	}
	if !known {
		a.addresses = append(a.addresses, address)
	}
	if enabled {
		delete(a.disabled, address)
	} else {
		a.disabled[address] = struct{}{}
	}
}
