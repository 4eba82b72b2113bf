package scoped

import (
	"context"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// groupAccessor is how a call gets the accessor of one capability group.
type groupAccessor struct {
	group string
	// accessorOf returns the accessor of a call.
	accessorOf func(c *sallyport.Call) any
	// refuse sets an accessor that refuses everything.
	refuse func(c *sallyport.Call, note func(sallyport.Decision))
	// bind sets the accessor of a grant, where it holds something of the group.
	// A list of which nothing is left still knows why it refuses.
	bind func(ctx context.Context, b *Binding, c *sallyport.Call)
}

// accessors has a row for each capability group.
var accessors = [...]groupAccessor{
	{
		group:      group.Network,
		accessorOf: func(c *sallyport.Call) any { return c.Network },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.Network = refusedNetwork{note} },
		bind: func(ctx context.Context, b *Binding, c *sallyport.Call) {
			switch s := b.scope; {
			case s.network != nil:
				c.Network = s.network.bindCall(ctx, b.recordDecision)
			case s.hasDropped(group.Network):
				c.Network = refusedNetwork{func(d sallyport.Decision) { b.recordDecision(s.explainDropped(d, matchesAnything)) }}
			}
		},
	},
	{
		group:      group.Files,
		accessorOf: func(c *sallyport.Call) any { return c.FS },
		refuse: func(c *sallyport.Call, _ func(sallyport.Decision)) {
			c.FS = refusedFS[undeclaredPath]{undeclaredPath{c}}
		},
		bind: func(ctx context.Context, b *Binding, c *sallyport.Call) {
			switch s := b.scope; {
			case s.files != nil:
				c.FS = s.files.bindCall(ctx, c.Workspace, c.SessionKey, b.recordDecision)
			case s.hasDropped(group.Files):
				c.FS = refusedFS[*droppedPath]{&droppedPath{b: b, folder: c.Workspace}}
			}
		},
	},
	{
		group:      group.Secrets,
		accessorOf: func(c *sallyport.Call) any { return c.Secrets },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.Secrets = refusedSecrets{note} },
		bind: func(_ context.Context, b *Binding, c *sallyport.Call) {
			b.secrets.b = b
			if len(b.scope.grant.Secrets) > 0 || b.scope.hasDropped(group.Secrets) {
				c.Secrets = &b.secrets
			}
		},
	},
	{
		group:      group.Process,
		accessorOf: func(c *sallyport.Call) any { return c.Process },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.Process = refusedProcess{note} },
		bind: func(_ context.Context, b *Binding, c *sallyport.Call) {
			if len(b.scope.grant.Process.Binaries) > 0 || b.scope.hasDropped(group.Process) {
				c.Process = processAccessor{b}
			}
		},
	},
	{
		group:      group.Storage,
		accessorOf: func(c *sallyport.Call) any { return c.KV },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.KV = refusedKV{note} },
		bind: func(_ context.Context, b *Binding, c *sallyport.Call) {
			if b.scope.grant.Storage != nil {
				b.kv.b = b
				c.KV = &b.kv
			}
		},
	},
	{
		group:      group.Attachments,
		accessorOf: func(c *sallyport.Call) any { return c.Attachments },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.Attachments = refusedAttachments{note} },
		bind: func(_ context.Context, b *Binding, c *sallyport.Call) {
			if b.scope.grant.Attachments != nil {
				c.Attachments = turnFiles{b}
			}
		},
	},
	{
		group:      group.Database,
		accessorOf: func(c *sallyport.Call) any { return c.Databases },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.Databases = refusedDatabases{note} },
		bind: func(_ context.Context, b *Binding, c *sallyport.Call) {
			if b.scope.grant.Database != nil {
				c.Databases = databaseAccessor{b}
			}
		},
	},
	{
		group:      group.Mail,
		accessorOf: func(c *sallyport.Call) any { return c.Mail },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.Mail = refusedMail{note} },
		bind: func(_ context.Context, b *Binding, c *sallyport.Call) {
			if b.scope.grant.Mail != nil {
				c.Mail = mailAccessor{b}
			}
		},
	},
	{
		group:      group.Input,
		accessorOf: func(c *sallyport.Call) any { return c.Input },
		refuse:     func(c *sallyport.Call, note func(sallyport.Decision)) { c.Input = refusedInput{note} },
		bind: func(_ context.Context, b *Binding, c *sallyport.Call) {
			if len(b.scope.grant.Input) > 0 || b.scope.hasDropped(group.Input) {
				c.Input = &inputAccessor{b: b}
			}
		},
	},
}
