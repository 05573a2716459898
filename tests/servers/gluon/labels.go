package main

import (
	"github.com/ProtonMail/gluon/imap"
)

// Ids of Proton's own labels.
const (
	inbox     = "0"
	allDrafts = "1"
	allSent   = "2"
	trash     = "3"
	spam      = "4"
	allMail   = "5"
	archive   = "6"
	sent      = "7"
	drafts    = "8"
	starred   = "10"
	scheduled = "12"
)

// The two mailboxes above the owner's folders and labels; Bridge makes them, the account has no such labels.
const (
	foldersNode = "Folders"
	labelsNode  = "Labels"
)

var (
	// homes are the places that follow a message's flavour, whichever of them is asked for.
	homes = setOf(inbox, sent, drafts, scheduled)
	// fixedPlaces take any message.
	fixedPlaces = setOf(archive, spam, trash)
	// systemNames is how an account calls its own labels.
	systemNames = map[string]string{
		inbox: "Inbox", allDrafts: "AllDrafts", allSent: "AllSent", trash: "Trash", spam: "Spam", allMail: "All Mail",
		archive: "Archive", sent: "Sent", drafts: "Drafts", starred: "Starred", scheduled: "Scheduled",
	}
)

// systemMailbox is one that Bridge always shows.
type systemMailbox struct {
	id, name   string
	attributes []string
}

// systemMailboxes in the order in which Bridge makes them, after the owner's own.
var systemMailboxes = []systemMailbox{
	{inbox, imap.Inbox, []string{imap.AttrNoInferiors}},
	{drafts, "Drafts", []string{imap.AttrNoInferiors, imap.AttrDrafts}},
	{sent, "Sent", []string{imap.AttrNoInferiors, imap.AttrSent}},
	{starred, "Starred", []string{imap.AttrNoInferiors, imap.AttrFlagged}},
	{archive, "Archive", []string{imap.AttrNoInferiors, imap.AttrArchive}},
	{spam, "Spam", []string{imap.AttrNoInferiors, imap.AttrJunk}},
	{trash, "Trash", []string{imap.AttrNoInferiors, imap.AttrTrash}},
	{allMail, "All Mail", []string{imap.AttrNoInferiors, imap.AttrAll}},
	{scheduled, "Scheduled", []string{imap.AttrNoInferiors}},
}

// mailbox is what the engine is told of a label. `path` has one element a level.
func mailbox(id string, path []string, attributes ...string) imap.Mailbox {
	flags := imap.NewFlagSet(imap.FlagSeen, imap.FlagFlagged)
	if id != allMail {
		flags.AddToSelf(imap.FlagDeleted)
		flags.AddToSelf(imap.ForwardFlagList...)
	}
	return imap.Mailbox{
		ID: imap.MailboxID(id), Name: path,
		Flags: flags, PermanentFlags: flags, Attributes: imap.NewFlagSet(attributes...),
	}
}

type set map[string]struct{}

func setOf(values ...string) set {
	made := make(set, len(values))
	for _, value := range values {
		made[value] = struct{}{}
	}
	return made
}

func (s set) has(value string) bool {
	_, found := s[value]
	return found
}
