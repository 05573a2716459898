package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/ProtonMail/gluon/rfc822"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// attachment is a file of a message; contentID has its brackets.
type attachment struct {
	name, media, disposition, contentID string
	content                             []byte
}

// content is one body in UTF-8 and the files beside it.
type content struct {
	media string
	body  []byte
	files []attachment
}

// contentOfDelivery is what a delivery or a draft keeps: HTML before plain text, files in order of their names.
func contentOfDelivery(section *rfc822.Section) content {
	texts := bodies(section)
	kept := content{media: "text/plain"}
	for _, text := range texts {
		if mediaOf(text) == "text/html" {
			kept.media = "text/html"
		}
		kept.body = append(kept.body, asUTF8(text)...)
	}
	for _, leaf := range leaves(section) {
		if !isBody(leaf) {
			kept.files = append(kept.files, fileOf(leaf, "message.eml"))
		}
	}
	sort.SliceStable(kept.files, func(i, j int) bool { return kept.files[i].name < kept.files[j].name })
	return kept
}

// contentOfImport is what an import with one text at most keeps: everything, in the order it came.
func contentOfImport(section *rfc822.Section) content {
	kept := content{media: "text/plain"}
	for _, leaf := range leaves(section) {
		if isText(leaf) {
			kept.media, kept.body = mediaOf(leaf), asUTF8(leaf)
		} else {
			kept.files = append(kept.files, fileOf(leaf, "attachment.bin"))
		}
	}
	return kept
}

// leaves are the parts that aren't multiparts, depth first; messages within aren't opened.
func leaves(section *rfc822.Section) []*rfc822.Section {
	children := parts(section)
	if len(children) == 0 {
		return []*rfc822.Section{section}
	}
	var found []*rfc822.Section
	for _, child := range children {
		found = append(found, leaves(child)...)
	}
	return found
}

func parts(section *rfc822.Section) []*rfc822.Section {
	if !strings.HasPrefix(mediaOf(section), "multipart/") {
		return nil
	}
	children, err := section.Children()
	if err != nil {
		return nil
	}
	return children
}

// bodies are the texts to be read in the message; of alternatives the HTML one, else the last.
func bodies(section *rfc822.Section) []*rfc822.Section {
	children := parts(section)
	if len(children) == 0 {
		if isBody(section) {
			return []*rfc822.Section{section}
		}
		return nil
	}
	var all, html, last []*rfc822.Section
	for _, child := range children {
		found := bodies(child)
		all = append(all, found...)
		if len(found) > 0 {
			last = found
			if allHTML(found) {
				html = found
			}
		}
	}
	switch {
	case mediaOf(section) != "multipart/alternative":
		return all
	case html != nil:
		return html
	default:
		return last
	}
}

func allHTML(sections []*rfc822.Section) bool {
	for _, section := range sections {
		if mediaOf(section) != "text/html" {
			return false
		}
	}
	return true
}

func isBody(section *rfc822.Section) bool {
	media := mediaOf(section)
	return (media == "text/plain" || media == "text/html") && dispositionOf(section) != "attachment"
}

// isText is what an import takes for text: of any text type, invitations among them.
func isText(section *rfc822.Section) bool {
	return strings.HasPrefix(mediaOf(section), "text/") && dispositionOf(section) != "attachment"
}

func countTexts(section *rfc822.Section) int {
	count := 0
	for _, leaf := range leaves(section) {
		if isText(leaf) {
			count++
		}
	}
	return count
}

// isProtected says whether anything in it is signed or encrypted in the MIME way.
func isProtected(section *rfc822.Section) bool {
	if media := mediaOf(section); media == "multipart/signed" || media == "multipart/encrypted" {
		return true
	}
	for _, child := range parts(section) {
		if isProtected(child) {
			return true
		}
	}
	return false
}

func mediaOf(section *rfc822.Section) string {
	media, _, err := section.ContentType()
	if err != nil {
		return ""
	}
	return string(media)
}

func valueOf(section *rfc822.Section, name string) string {
	parsed, err := section.ParseHeader()
	if err != nil {
		return ""
	}
	return parsed.Get(name)
}

func dispositionOf(section *rfc822.Section) string {
	kind, _, err := mime.ParseMediaType(valueOf(section, "Content-Disposition"))
	if err != nil {
		return ""
	}
	return kind
}

func fileOf(section *rfc822.Section, messageName string) attachment {
	_, ofDisposition, _ := mime.ParseMediaType(valueOf(section, "Content-Disposition"))
	_, ofType, _ := section.ContentType()
	made := attachment{
		media: mediaOf(section), contentID: valueOf(section, "Content-Id"), content: decoded(section),
		disposition: "attachment", name: readable(ofDisposition["filename"]),
	}
	if made.name == "" {
		made.name = readable(ofType["name"])
	}
	if made.media == "" {
		made.media = "application/octet-stream"
	}
	if dispositionOf(section) == "inline" {
		made.disposition = "inline"
	}
	if made.name == "" {
		made.name = defaultName(made.media, messageName)
	}
	return made
}

var extensions = map[string]string{
	"application/json": ".json", "application/pdf": ".pdf", "application/pgp-encrypted": ".gpg",
	"application/pgp-keys": ".key", "application/pgp-signature": ".sig", "application/zip": ".zip",
	"image/gif": ".gif", "image/jpeg": ".jpeg", "image/png": ".png", "image/webp": ".webp",
	"text/calendar": ".ics", "text/css": ".css", "text/csv": ".csv", "text/html": ".htm", "text/xml": ".xml",
}

func defaultName(media, messageName string) string {
	if media == "message/rfc822" {
		return messageName
	}
	if extension, known := extensions[media]; known {
		return "attachment" + extension
	}
	return "attachment.bin"
}

var notBase64 = regexp.MustCompile(`[^A-Za-z0-9+/]`)

// decoded is a part without its transfer encoding; of a broken one what can be read.
func decoded(section *rfc822.Section) []byte {
	switch strings.ToLower(strings.TrimSpace(valueOf(section, "Content-Transfer-Encoding"))) {
	case "quoted-printable":
		plain, _ := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(section.Body())))
		return plain
	case "base64":
		plain, _ := base64.RawStdEncoding.DecodeString(notBase64.ReplaceAllString(string(section.Body()), ""))
		return plain
	default:
		return section.Body()
	}
}

// asUTF8 is a part's text; bytes of an unknown charset stay as they are.
func asUTF8(section *rfc822.Section) []byte {
	raw := decoded(section)
	_, parameters, _ := section.ContentType()
	charset := strings.ToLower(parameters["charset"])
	if charset == "" && !utf8.Valid(raw) {
		text, _ := charmap.Windows1252.NewDecoder().Bytes(raw)
		return text
	}
	if charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii" {
		return raw
	}
	encoding, err := htmlindex.Get(charset)
	if err != nil {
		return raw
	}
	text, err := encoding.NewDecoder().Bytes(raw)
	if err != nil {
		return raw
	}
	return text
}

// readable is a value with its encoded words decoded, or as it came if one can't be.
func readable(value string) string {
	decoder := mime.WordDecoder{CharsetReader: func(charset string, input io.Reader) (io.Reader, error) {
		encoding, err := htmlindex.Get(charset)
		if err != nil {
			return nil, err
		}
		return encoding.NewDecoder().Reader(input), nil
	}}
	if text, err := decoder.DecodeHeader(value); err == nil {
		return text
	}
	return value
}
