package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// patience is how long an order may take: longer than the API's longest refusal.
const patience = 90 * time.Second

// order is one line of the control port: what to do, to which Bridge, for which account (the first by default).
type order struct {
	Do     string `json:"do"`
	Bridge int    `json:"bridge"`
	User   string `json:"user"`

	Users []userGiven `json:"users"`
	Mode  string      `json:"mode"`
	Real  bool        `json:"real"`
	Pace  *float64    `json:"pace"`

	messageGiven
	labelGiven

	Messages []messageGiven `json:"messages"`
	Keys     []string       `json:"keys"`
	To       string         `json:"to"`
	Flag     string         `json:"flag"`
	On       bool           `json:"on"`
	Every    float64        `json:"every"`
	Fault    faultGiven     `json:"fault"`
}

type told map[string]any

// control answers orders, a JSON line each; those of one connection one after the other.
type control struct {
	house *house
}

func (c control) serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go c.attend(connection)
	}
}

func (c control) attend(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewReader(connection)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		answer, err := c.obey(line)
		if err != nil {
			answer = told{"error": err.Error()}
		}
		if err := json.NewEncoder(connection).Encode(answer); err != nil {
			return
		}
	}
}

func (c control) obey(line []byte) (any, error) {
	var given order
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if given.Do == "bridge" {
		return c.house.open(ctx, given)
	}
	b, err := c.house.bridge(given.Bridge)
	if err != nil {
		return nil, err
	}
	if given.Do == "close" {
		return told{}, c.house.shut(given.Bridge)
	}
	u, err := b.user(given.User)
	if err != nil {
		return nil, err
	}
	if act, known := onServer[given.Do]; known {
		return act(u, given)
	}
	if act, known := onBridge[given.Do]; known {
		b.mu.Lock()
		defer b.mu.Unlock()
		return told{}, act(ctx, b, u, given)
	}
	return nil, fmt.Errorf("nobody knows how to %q", given.Do)
}

func (b *bridge) user(name string) (*bridgeUser, error) {
	for _, u := range b.users {
		if name == "" || u.account.name == name {
			return u, nil
		}
	}
	return nil, fmt.Errorf("no user %q", name)
}

// onServer is what another device does, what goes wrong with the API, and what may be asked. None of it waits for
// the engine, so that a write that hangs can be helped.
var onServer = map[string]func(*bridgeUser, order) (any, error){
	"deliver": func(u *bridgeUser, o order) (any, error) {
		made, err := o.messageGiven.addTo(u.account)
		if err != nil {
			return nil, err
		}
		return told{"id": made.id}, nil
	},
	"load": func(u *bridgeUser, o order) (any, error) {
		for _, given := range o.Messages {
			if _, err := given.addTo(u.account); err != nil {
				return nil, err
			}
		}
		return told{}, nil
	},
	"make label": func(u *bridgeUser, o order) (any, error) {
		made, err := o.labelGiven.addTo(u.account)
		if err != nil {
			return nil, err
		}
		return told{"id": made.id}, nil
	},
	"change label": func(u *bridgeUser, o order) (any, error) { return told{}, o.labelGiven.changeIn(u.account) },
	"delete label": func(u *bridgeUser, o order) (any, error) {
		id, err := u.account.parentID(o.Path)
		if err != nil {
			return nil, err
		}
		return told{}, u.account.deleteLabel(id)
	},
	"mark read": each(func(u *bridgeUser, ids []string, o order) error { u.account.setRead(ids, o.On); return nil }),
	"set flag":  each(func(u *bridgeUser, ids []string, o order) error { u.account.setFlag(ids, o.Flag, o.On); return nil }),
	"delete":    each(func(u *bridgeUser, ids []string, _ order) error { u.account.delete(ids); return nil }),
	"edit": each(func(u *bridgeUser, ids []string, o order) error {
		for _, id := range ids {
			u.account.edit(id, crlf(o.Raw), false)
		}
		return nil
	}),
	"label": each(func(u *bridgeUser, ids []string, o order) error {
		id, err := u.account.named(o.To)
		if err == nil {
			u.account.label(ids, id)
		}
		return err
	}),
	"unlabel": each(func(u *bridgeUser, ids []string, o order) error {
		id, err := u.account.named(o.To)
		if err == nil {
			u.account.unlabel(ids, id)
		}
		return err
	}),
	"address": func(u *bridgeUser, o order) (any, error) {
		u.account.setAddress(o.Address, o.On)
		return told{}, nil
	},
	"revoke":  func(u *bridgeUser, _ order) (any, error) { return told{}, u.account.ask("revoke") },
	"refresh": func(u *bridgeUser, _ order) (any, error) { return told{}, u.account.ask("refresh") },
	"state":   func(u *bridgeUser, _ order) (any, error) { return u.account.state(), nil },
	"labels":  func(u *bridgeUser, _ order) (any, error) { return told{"paths": u.account.paths()}, nil },
	"fail":    func(u *bridgeUser, o order) (any, error) { return told{}, u.bridge.api.fail(o.Fault) },
	"mend": func(u *bridgeUser, _ order) (any, error) {
		u.bridge.api.mend()
		return told{}, nil
	},
	"take down": func(u *bridgeUser, o order) (any, error) {
		u.bridge.api.takeDown(o.On)
		return told{}, nil
	},
	"calls": func(u *bridgeUser, _ order) (any, error) { return told{"calls": u.bridge.api.made()}, nil },
}

// onBridge is what happens to Bridge itself; one at a time.
var onBridge = map[string]func(context.Context, *bridge, *bridgeUser, order) error{
	"events": func(ctx context.Context, b *bridge, u *bridgeUser, o order) error {
		if o.User != "" {
			return b.poll(ctx, u)
		}
		for _, one := range b.users {
			if err := b.poll(ctx, one); err != nil {
				return err
			}
		}
		return nil
	},
	"tick": func(_ context.Context, b *bridge, _ *bridgeUser, o order) error {
		b.tick(time.Duration(o.Every * float64(time.Second)))
		return nil
	},
	"repair":   func(ctx context.Context, b *bridge, u *bridgeUser, _ order) error { return b.repair(ctx, u) },
	"renumber": func(ctx context.Context, b *bridge, u *bridgeUser, _ order) error { return b.renumber(ctx, u) },
	"restart":  func(ctx context.Context, b *bridge, _ *bridgeUser, _ order) error { return b.restart(ctx) },
	"sign out": func(ctx context.Context, b *bridge, u *bridgeUser, _ order) error { return b.signOut(ctx, u) },
	"sign in":  func(ctx context.Context, b *bridge, u *bridgeUser, _ order) error { return b.signIn(ctx, u) },
	"mode":     func(ctx context.Context, b *bridge, _ *bridgeUser, o order) error { return b.switchMode(ctx, o.Mode) },
	"network": func(_ context.Context, b *bridge, _ *bridgeUser, o order) error {
		b.closePort()
		if o.On {
			return b.listen()
		}
		return nil
	},
	"show all mail": func(_ context.Context, b *bridge, _ *bridgeUser, o order) error {
		b.hidesAllMail.Store(!o.On)
		return nil
	},
	"offer idle": func(_ context.Context, b *bridge, _ *bridgeUser, o order) error {
		b.hasNoIdle.Store(!o.On)
		return nil
	},
	"withdraw authenticate": func(_ context.Context, b *bridge, _ *bridgeUser, _ order) error {
		b.startsWithAuthenticate = 2 // the flag acts from the second start on
		return nil
	},
	"empty cache": func(_ context.Context, b *bridge, _ *bridgeUser, _ order) error { return b.emptyCache() },
}

// each finds the messages an order names by key or id.
func each(act func(*bridgeUser, []string, order) error) func(*bridgeUser, order) (any, error) {
	return func(u *bridgeUser, o order) (any, error) {
		var ids []string
		for _, key := range o.Keys {
			id, err := u.account.find(key)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return told{}, act(u, ids, o)
	}
}
