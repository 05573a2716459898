module mcp-proton/tests/servers/gluon

go 1.24

// gluon at the commit that Proton Mail Bridge 3.21.1 is built with.
require (
	github.com/ProtonMail/gluon v0.17.1-0.20250611120816-05167d499f8d
	github.com/google/uuid v1.3.0
	github.com/sirupsen/logrus v1.9.2
	golang.org/x/text v0.9.0
)

require (
	github.com/bradenaw/juniper v0.12.0 // indirect
	github.com/emersion/go-imap v1.2.1 // indirect
	github.com/mattn/go-sqlite3 v1.14.22 // indirect
	github.com/pierrec/lz4/v4 v4.1.17 // indirect
	golang.org/x/exp v0.0.0-20230510235704-dd950f8aeaea // indirect
	golang.org/x/sync v0.2.0 // indirect
	golang.org/x/sys v0.8.0 // indirect
)
