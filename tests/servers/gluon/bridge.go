package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ProtonMail/gluon"
	"github.com/ProtonMail/gluon/imap"
)

// bridge is one Proton Mail Bridge: a port with the engine behind it, and the accounts it is signed in to.
type bridge struct {
	dir       string
	tls       *tls.Config
	mode      string // combined, split
	api       *api
	users     []*bridgeUser
	numbering imap.UIDValidityGenerator

	mu       sync.Mutex // held while something happens to the Bridge itself
	server   *gluon.Server
	listener net.Listener
	port     int
	ticking  context.CancelFunc

	hidesAllMail atomic.Bool
	hasNoIdle    atomic.Bool
	// starts without AUTHENTICATE begin when this has counted down to zero; below that they never do.
	startsWithAuthenticate int
}

func newBridge(dir string, certificate tls.Certificate, mode string, pace float64) *bridge {
	return &bridge{
		dir: dir, mode: mode, api: &api{pace: pace}, startsWithAuthenticate: -1,
		tls:       &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		numbering: imap.DefaultEpochUIDValidityGenerator(),
	}
}

func (b *bridge) showsAllMail() bool { return !b.hidesAllMail.Load() }

// GetFlagValue is what the engine asks of Proton's feature flags, for every new session.
func (b *bridge) GetFlagValue(key string) bool {
	return key == "InboxBridgeImapIdleCapabilityDisabled" && b.hasNoIdle.Load()
}

// start brings the engine up with everything that is on disk, and opens the port.
func (b *bridge) start() error {
	options := []gluon.Option{
		gluon.WithDataDir(filepath.Join(b.dir, "messages")),
		gluon.WithDatabaseDir(filepath.Join(b.dir, "database")),
		gluon.WithTLS(b.tls),
		gluon.WithVersionInfo(3, 21, 1, "Proton Mail Bridge", "TODO", "TODO"), // Bridge says TODO, too
		gluon.WithUIDValidityGenerator(b.numbering),
		gluon.WithFeatureFlagProvider(b),
	}
	if b.startsWithAuthenticate >= 0 {
		b.startsWithAuthenticate = max(b.startsWithAuthenticate-1, 0)
		if b.startsWithAuthenticate == 0 {
			options = append(options, gluon.WithDisableIMAPAuthenticate())
		}
	}
	server, err := gluon.New(options...)
	if err != nil {
		return err
	}
	b.server = server
	go func() {
		for range server.GetErrorCh() { // broken connections; the engine stops when nobody takes them
		}
	}()
	return nil
}

// listen opens the port; the same one again after it was closed.
func (b *bridge) listen() error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", b.port))
	if err != nil {
		return err
	}
	b.listener, b.port = listener, listener.Addr().(*net.TCPAddr).Port
	b.api.resume()
	// A context that can end would be a trap: the engine waits for ever for a session whose context did.
	return b.server.Serve(context.Background(), listener)
}

// closePort ends every session without a word, those that wait for the API too.
func (b *bridge) closePort() {
	if b.listener != nil {
		_ = b.listener.Close()
		b.api.interrupt()
		b.listener = nil
	}
}

// stop ends the engine; what is on disk stays.
func (b *bridge) stop() error {
	b.closePort()
	return b.server.Close(context.Background())
}

func (b *bridge) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick(0)
	err := b.stop()
	if gone := os.RemoveAll(b.dir); err == nil {
		err = gone
	}
	return err
}

// -- accounts

// signIn opens an account: the first time with a first sync, then with what is on disk and the events since.
func (b *bridge) signIn(ctx context.Context, u *bridgeUser) error {
	u.learnAddresses()
	if u.signedIn {
		return nil
	}
	u.signedIn = true
	if len(u.trees) > 0 {
		if err := b.reopen(ctx, u); err != nil {
			return err
		}
		return b.poll(ctx, u)
	}
	u.beginSync()
	if b.mode != "split" {
		return b.open(ctx, u, "")
	}
	for _, address := range u.account.addresses {
		if err := b.open(ctx, u, address); err != nil {
			return err
		}
	}
	return nil
}

// open adds a tree and loads it.
func (b *bridge) open(ctx context.Context, u *bridgeUser, address string) error {
	made := &tree{user: u, address: address, gluonID: b.loginID(u, address), known: set{}}
	if err := b.load(ctx, made); err != nil {
		return err
	}
	u.trees = append(u.trees, made)
	return made.sync(ctx)
}

// loginID names the engine's files of a login.
func (b *bridge) loginID(u *bridgeUser, address string) string { return u.account.name + "-" + address }

func (b *bridge) load(ctx context.Context, t *tree) error {
	t.updates, t.closed = make(chan imap.Update), make(chan struct{})
	_, err := b.server.LoadUser(ctx, t, t.gluonID, []byte("a key of the vault"))
	return err
}

func (b *bridge) reopen(ctx context.Context, u *bridgeUser) error {
	for _, one := range u.trees {
		if err := b.load(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// signOut ends the sessions of an account and keeps what is on disk.
func (b *bridge) signOut(ctx context.Context, u *bridgeUser) error {
	if !u.signedIn {
		return nil
	}
	u.signedIn = false
	return b.drop(ctx, u, false)
}

func (b *bridge) drop(ctx context.Context, u *bridgeUser, files bool) error {
	for _, one := range u.trees {
		if err := b.server.RemoveUser(ctx, one.gluonID, files); err != nil {
			return err
		}
	}
	if files {
		u.trees = nil
	}
	return nil
}

// repair throws everything local away and loads it anew: other UIDVALIDITYs, other UIDs; sessions end.
func (b *bridge) repair(ctx context.Context, u *bridgeUser) error {
	if !u.signedIn {
		return nil
	}
	if err := b.drop(ctx, u, true); err != nil {
		return err
	}
	u.signedIn = false
	return b.signIn(ctx, u)
}

// renumber gives every mailbox a new UIDVALIDITY and keeps the UIDs: the engine's own way, which ends sessions.
func (b *bridge) renumber(ctx context.Context, u *bridgeUser) error {
	for _, one := range u.trees {
		if err := one.apply(ctx, imap.NewUIDValidityBumped()); err != nil {
			return err
		}
	}
	return nil
}

// poll is one round of the event loop for an account.
func (b *bridge) poll(ctx context.Context, u *bridgeUser) error {
	if !u.signedIn || b.listener == nil {
		return nil
	}
	outcome, err := u.poll(ctx)
	switch {
	case err != nil:
		return err
	case outcome == "refresh":
		return b.repair(ctx, u)
	case outcome == "given up":
		return b.signOut(ctx, u)
	}
	return nil
}

// restart stops and starts Bridge: UIDs, UIDVALIDITYs and local flags stay.
func (b *bridge) restart(ctx context.Context) error {
	if err := b.stop(); err != nil {
		return err
	}
	if err := b.start(); err != nil {
		return err
	}
	for _, u := range b.users {
		if u.signedIn {
			if err := b.reopen(ctx, u); err != nil {
				return err
			}
		}
	}
	return b.listen()
}

// switchMode changes the address mode; everything is loaded anew.
func (b *bridge) switchMode(ctx context.Context, mode string) error {
	b.mode = mode
	for _, u := range b.users {
		if err := b.repair(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// tick polls every so often; 0 leaves it to whoever asks.
func (b *bridge) tick(every time.Duration) {
	if b.ticking != nil {
		b.ticking()
		b.ticking = nil
	}
	if every == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.ticking = cancel
	go func() {
		beat := time.NewTicker(every)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				b.round(ctx)
			}
		}
	}()
}

func (b *bridge) round(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.users {
		if ctx.Err() == nil {
			_ = b.poll(ctx, u) // what failed is tried again at the next round
		}
	}
}

// emptyCache removes the engine's copies of all messages.
func (b *bridge) emptyCache() error {
	return filepath.WalkDir(filepath.Join(b.dir, "messages"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Remove(path)
	})
}
