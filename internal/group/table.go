package group

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// The names of the groups, as declarations, grants and decisions spell them.
const (
	Network     = "network"
	Secrets     = "secrets"
	Storage     = "storage"
	Files       = "fs_reach"
	Process     = "process"
	Attachments = "attachments"
	Database    = "database"
	Mail        = "mail"
	Input       = "input"
)

// table is the groups, a row each, in the order of [sallyport.Capabilities].
// Each test of a grant repeats that the group may not be there.
var table = [...]Group{
	{
		Name: Network, Keys: []string{"allowedHosts"},
		Field: func(c *sallyport.Capabilities) any { return &c.Network },
		Check: checkNetwork,
		Clone: func(c *sallyport.Capabilities) {
			c.Network = new(*c.Network)
			c.Network.AllowedHosts = slices.Clone(c.Network.AllowedHosts)
		},
		Normalize: func(c *sallyport.Capabilities) { c.Network.AllowedHosts = nonNilSet(c.Network.AllowedHosts) },
		Wired:     func(b *sallyport.Backends) bool { return b.Network != nil },
		Granted:   func(g *sallyport.Grant) bool { return len(g.Network.Allow) > 0 },
		notes: func(g *sallyport.Grant) []string {
			return slices.Concat(
				oneIf(g.Network.ReadOnly, "methods GET and HEAD only"),
				oneIf(g.Network.AllowPrivate, "loopback, RFC 1918 and unique-local addresses"),
				oneIf(g.Network.AnyAddress, "every address but metadata, link-local and multicast ones"),
				oneIf(len(g.Network.Private) > 0, "the private addresses "+strings.Join(g.Network.Private, ", ")))
		},
		Reaches: []Reach{
			{
				Name: "network", Pointer: "network", Accessed: true, Probed: true, Covers: coversHost,
				Ceiling: Ceiling{Key: "safety.network.allow"},
				Declared: func(c *sallyport.Capabilities) []string {
					if c.Network == nil {
						return nil
					}
					return c.Network.AllowedHosts
				},
				Granted: func(g *sallyport.Grant) []string { return g.Network.Allow },
			},
			{
				Name: "network", Denied: true, Covers: coversHost,
				Declared: func(*sallyport.Capabilities) []string { return nil },
				Granted:  func(g *sallyport.Grant) []string { return g.Network.Deny },
			},
		},
	},
	{
		Name:      Secrets,
		Field:     func(c *sallyport.Capabilities) any { return &c.Secrets },
		Check:     checkSecrets,
		Clone:     func(c *sallyport.Capabilities) { c.Secrets = slices.Clone(c.Secrets) },
		Normalize: func(c *sallyport.Capabilities) { c.Secrets = sortedSet(c.Secrets) },
		Wired:     func(b *sallyport.Backends) bool { return b.Secrets != nil },
		Grant: func(c *sallyport.Capabilities, g *sallyport.Grant) {
			g.Secrets = slices.Sorted(slices.Values(c.Secrets))
		},
		Granted: func(g *sallyport.Grant) bool { return len(g.Secrets) > 0 },
		Reaches: []Reach{{
			Name: "secrets", Pointer: "secrets", Accessed: true, Probed: true, Covers: coversParsed(reach.ParseRef), Meet: reach.IntersectRefs,
			Ceiling: Ceiling{
				Key:    "safety.secrets.allow",
				Reason: "secret %q is not covered by personality safety.secrets.allow",
				List:   func(p *sallyport.Personality) []string { return p.Secrets },
				Set:    func(g *sallyport.Grant, list []string) { g.Secrets = list },
			},
			Declared: func(c *sallyport.Capabilities) []string { return c.Secrets },
			Granted:  func(g *sallyport.Grant) []string { return g.Secrets },
		}},
	},
	{
		Name: Storage, Keys: []string{"scope", "kind", "ttlSecondsDefault"},
		Field:     func(c *sallyport.Capabilities) any { return &c.Storage },
		Check:     checkStorage,
		Clone:     func(c *sallyport.Capabilities) { c.Storage = new(*c.Storage) },
		Normalize: func(*sallyport.Capabilities) {},
		Wired:     func(b *sallyport.Backends) bool { return b.KV != nil },
		Grant: func(c *sallyport.Capabilities, g *sallyport.Grant) {
			s := c.Storage
			g.Storage = &sallyport.StorageGrant{Scope: s.Scope, TTL: time.Duration(s.TTLSecondsDefault) * time.Second}
		},
		Granted: func(g *sallyport.Grant) bool { return g.Storage != nil },
		lost: func(was, now *sallyport.Grant) string {
			if was.Storage != nil && (now.Storage == nil || *was.Storage != *now.Storage) {
				return gone("storage", string(was.Storage.Scope))
			}
			return ""
		},
		Reaches: []Reach{{
			Name: "storage", Accessed: true, Covers: coversAny,
			// Any key of the store.
			Declared: func(c *sallyport.Capabilities) []string { return oneIf(c.Storage != nil, Everything) },
			Granted: func(g *sallyport.Grant) []string {
				if g.Storage == nil {
					return nil
				}
				return []string{string(g.Storage.Scope)}
			},
		}},
	},
	{
		Name: Files, Keys: []string{"read", "write", "mode"},
		Field:   func(c *sallyport.Capabilities) any { return &c.FSReach },
		Check:   checkFiles,
		Changes: func(c *sallyport.Capabilities) bool { return c.FSReach != nil && !c.FSReach.Write.IsZero() },
		Clone: func(c *sallyport.Capabilities) {
			c.FSReach = new(*c.FSReach)
			f := c.FSReach
			f.Read.Paths, f.Write.Paths = slices.Clone(f.Read.Paths), slices.Clone(f.Write.Paths)
		},
		Normalize: func(c *sallyport.Capabilities) {
			f := c.FSReach
			f.Read.Paths, f.Write.Paths = sortedSet(f.Read.Paths), sortedSet(f.Write.Paths)
		},
		Wired:   func(b *sallyport.Backends) bool { return b.Files != nil },
		Granted: func(g *sallyport.Grant) bool { return len(g.FS.Read) > 0 || len(g.FS.Write) > 0 },
		lost: func(was, now *sallyport.Grant) string {
			if was.FS.Mode != now.FS.Mode {
				return "writes reach the disk in another way"
			}
			return ""
		},
		Reaches: []Reach{
			{
				Name: "fs_reach.read", Short: "read", Pointer: "fs_reach/read", Accessed: true, Probed: true,
				Covers: coversPath, Meet: reach.IntersectPaths, Ceiling: Ceiling{Key: "fs_reach.read"},
				Declared: func(c *sallyport.Capabilities) []string { return pathItems(c, false) },
				Granted:  func(g *sallyport.Grant) []string { return g.FS.Read },
			},
			{
				Name: "fs_reach.write", Short: "write", Pointer: "fs_reach/write", Accessed: true, Probed: true, Writes: true,
				Covers: coversPath, Meet: reach.IntersectPaths, Ceiling: Ceiling{Key: "fs_reach.write"},
				Declared: func(c *sallyport.Capabilities) []string { return pathItems(c, true) },
				Granted:  func(g *sallyport.Grant) []string { return g.FS.Write },
			},
			{
				Name: "fs_reach.mode", Short: "write", Pointer: "fs_reach/mode", Writes: true, Covers: coversEqual,
				Declared: func(c *sallyport.Capabilities) []string {
					f := c.FSReach
					return oneIf(f != nil && !f.Write.IsZero() && f.Mode != sallyport.FSOverlay, string(sallyport.FSDirect))
				},
			},
		},
	},
	{
		Name: Process, Keys: []string{"allowedBinaries", "execFrom"},
		Field:   func(c *sallyport.Capabilities) any { return &c.Process },
		Check:   checkProcess,
		Changes: func(c *sallyport.Capabilities) bool { return c.Process != nil },
		Clone: func(c *sallyport.Capabilities) {
			c.Process = new(*c.Process)
			p := c.Process
			p.AllowedBinaries, p.ExecFrom = slices.Clone(p.AllowedBinaries), slices.Clone(p.ExecFrom)
			p.Programs = slices.Clone(p.Programs)
		},
		Normalize: func(c *sallyport.Capabilities) {
			p := c.Process
			p.AllowedBinaries, p.ExecFrom = nonNilSet(p.AllowedBinaries), sortedSet(p.ExecFrom)
			p.Programs = nil // The programs have a place of their own in the lock.
		},
		Wired: func(b *sallyport.Backends) bool { return b.Process != nil },
		Grant: func(c *sallyport.Capabilities, g *sallyport.Grant) {
			g.Process.Binaries = slices.Sorted(slices.Values(c.Process.AllowedBinaries))
			// The operator named them as what runs, which is narrower than any
			// reach: a personality without files can still be given such a tool.
			g.Process.Programs = slices.Sorted(slices.Values(c.Process.Programs))
		},
		Granted: func(g *sallyport.Grant) bool { return len(g.Process.Binaries) > 0 },
		Reaches: []Reach{
			{
				Name: "process", Pointer: "process/allowedBinaries", Accessed: true, Probed: true,
				Covers: coversParsed(reach.ParseBinary), Meet: reach.IntersectNames,
				Ceiling: Ceiling{
					Key:    "safety.process.allow",
					Reason: "binary %q is not in personality safety.process.allow",
					List:   func(p *sallyport.Personality) []string { return p.Process },
					Set:    func(g *sallyport.Grant, list []string) { g.Process.Binaries = list },
				},
				Declared: processList(func(p *sallyport.ProcessCapability) []string { return p.AllowedBinaries }),
				Granted:  func(g *sallyport.Grant) []string { return g.Process.Binaries },
			},
			{
				Name: "process.program", Covers: coversPath, Meet: reach.IntersectPaths,
				Declared: processList(func(p *sallyport.ProcessCapability) []string { return p.Programs }),
				Granted:  func(g *sallyport.Grant) []string { return g.Process.Programs },
			},
			{
				Name: "process.execFrom", Pointer: "process/execFrom", Writes: true, Covers: coversPath, Meet: reach.IntersectPaths,
				Declared: processList(func(p *sallyport.ProcessCapability) []string { return p.ExecFrom }),
				Granted:  func(g *sallyport.Grant) []string { return g.Process.ExecFrom },
			},
		},
	},
	{
		Name: Attachments, Keys: []string{"kinds"},
		Field: func(c *sallyport.Capabilities) any { return &c.Attachments },
		Check: checkAttachments,
		Clone: func(c *sallyport.Capabilities) {
			c.Attachments = new(*c.Attachments)
			c.Attachments.Kinds = slices.Clone(c.Attachments.Kinds)
		},
		Normalize: func(c *sallyport.Capabilities) { c.Attachments.Kinds = sortedSet(c.Attachments.Kinds) },
		Wired:     func(b *sallyport.Backends) bool { return b.Attachments != nil },
		Grant:     func(c *sallyport.Capabilities, g *sallyport.Grant) { g.Attachments = c.Attachments },
		Granted:   func(g *sallyport.Grant) bool { return g.Attachments != nil },
		Reaches: []Reach{{
			Name: "attachments", Pointer: "attachments", Accessed: true, Covers: coversKind, Meet: meetBy(coversKind),
			Declared: func(c *sallyport.Capabilities) []string { return kindItems(c.Attachments) },
			Granted:  func(g *sallyport.Grant) []string { return kindItems(g.Attachments) },
		}},
	},
	{
		Name: Database, Keys: []string{"connections", "mode"},
		Field: func(c *sallyport.Capabilities) any { return &c.Database },
		Check: checkDatabase,
		Changes: func(c *sallyport.Capabilities) bool {
			return c.Database != nil && c.Database.Mode == sallyport.ModeWrite
		},
		Clone: func(c *sallyport.Capabilities) {
			c.Database = new(*c.Database)
			c.Database.Connections = slices.Clone(c.Database.Connections)
		},
		Normalize: func(c *sallyport.Capabilities) { c.Database.Connections = nonNilSet(c.Database.Connections) },
		Wired:     func(b *sallyport.Backends) bool { return b.Databases != nil },
		Grant:     func(c *sallyport.Capabilities, g *sallyport.Grant) { g.Database = c.Database },
		Granted:   func(g *sallyport.Grant) bool { return g.Database != nil },
		Targets: func(g *sallyport.Grant, b *sallyport.Backends) (any, []string) {
			return b.Databases, connections(g.Database)
		},
		lost: func(was, now *sallyport.Grant) string {
			for _, name := range connections(was.Database) {
				if !slices.Contains(connections(now.Database), name) || was.Database.Mode != now.Database.Mode {
					return gone("database", name)
				}
			}
			return ""
		},
		Reaches: []Reach{
			{
				Name: "database", Pointer: "database", Accessed: true, Probed: true, Covers: coversEqual,
				Declared: func(c *sallyport.Capabilities) []string { return connections(c.Database) },
				Granted:  func(g *sallyport.Grant) []string { return connections(g.Database) },
			},
			{
				Name: "database.mode", Pointer: "database/mode", Writes: true, Covers: coversEqual,
				Declared: func(c *sallyport.Capabilities) []string {
					return oneIf(c.Database != nil && c.Database.Mode == sallyport.ModeWrite, string(sallyport.ModeWrite))
				},
			},
		},
	},
	{
		Name: Mail, Keys: []string{"relay", "to"},
		Field:   func(c *sallyport.Capabilities) any { return &c.Mail },
		Check:   checkMail,
		Changes: func(c *sallyport.Capabilities) bool { return c.Mail != nil },
		Clone: func(c *sallyport.Capabilities) {
			c.Mail = new(*c.Mail)
			c.Mail.To = slices.Clone(c.Mail.To)
		},
		Normalize: func(c *sallyport.Capabilities) { c.Mail.To = nonNilSet(c.Mail.To) },
		Wired:     func(b *sallyport.Backends) bool { return b.Mail != nil },
		Grant:     func(c *sallyport.Capabilities, g *sallyport.Grant) { g.Mail = c.Mail },
		Granted:   func(g *sallyport.Grant) bool { return g.Mail != nil },
		Targets: func(g *sallyport.Grant, b *sallyport.Backends) (any, []string) {
			if g.Mail == nil {
				return nil, nil
			}
			return b.Mail, []string{cmp.Or(g.Mail.Relay, DefaultRelay)}
		},
		lost: func(was, now *sallyport.Grant) string {
			for _, to := range recipients(was.Mail) {
				if !slices.Contains(recipients(now.Mail), to) || was.Mail.Relay != now.Mail.Relay {
					return gone("mail", to)
				}
			}
			return ""
		},
		Reaches: []Reach{
			{
				Name: "mail.relay", Pointer: "mail/relay", Covers: coversEqual,
				Declared: func(c *sallyport.Capabilities) []string {
					if c.Mail == nil {
						return nil
					}
					return []string{c.Mail.Relay}
				},
			},
			{
				Name: "mail", Pointer: "mail/to", Accessed: true, Probed: true, Covers: coversEqual,
				Declared: func(c *sallyport.Capabilities) []string { return recipients(c.Mail) },
				Granted:  func(g *sallyport.Grant) []string { return recipients(g.Mail) },
			},
		},
	},
	{
		Name:      Input,
		Field:     func(c *sallyport.Capabilities) any { return &c.Input },
		Check:     checkInput,
		Clone:     func(c *sallyport.Capabilities) { c.Input = slices.Clone(c.Input) },
		Normalize: func(c *sallyport.Capabilities) { c.Input = sortedSet(c.Input) },
		Grant:     func(c *sallyport.Capabilities, g *sallyport.Grant) { g.Input = slices.Sorted(slices.Values(c.Input)) },
		Granted:   func(g *sallyport.Grant) bool { return len(g.Input) > 0 },
		Reaches: []Reach{{
			Name: "input", Pointer: "input", Accessed: true, Covers: coversEqual, Meet: meetBy(coversEqual),
			Ceiling: Ceiling{
				Key:    "safety.input.allow",
				Reason: "input of kind %q is not in personality safety.input.allow",
				List:   func(p *sallyport.Personality) []string { return textsOf(p.Input) },
				Set:    func(g *sallyport.Grant, list []string) { g.Input = kindsOf(list) },
			},
			Declared: func(c *sallyport.Capabilities) []string { return textsOf(c.Input) },
			Granted:  func(g *sallyport.Grant) []string { return textsOf(g.Input) },
		}},
	},
}
