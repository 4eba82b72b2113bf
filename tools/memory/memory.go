// Package memory holds the tools with which an agent keeps things for later and finds
// them again: memory_write, memory_read and session_search. [Tools] returns them for a
// registry.
//
// Notes stand on shelves: of the session, of the caller in its role, or of the role. The
// accessor of the call decides which shelves there are, and marks what is written after
// untrusted content was read; such notes are kept apart, come back only to who asks for
// them, and come back as untrusted.
//
// The tools need a store of notes, which the state of the program has; with any other
// key-value backend they answer not_available.
package memory

import (
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const (
	// toolset is the label of the tools.
	toolset = "memory"
	// maxQueryChars bounds a search.
	maxQueryChars = 400
	// defaultNotes are the notes of an answer that asks for no number, maxCalls the
	// calls of one.
	defaultNotes, defaultCalls, maxCalls = 10, 10, 50
	// resultChars bounds an answer.
	resultChars = 20_000
	// maxDays is the longest time that a note is kept.
	maxDays = int(recall.MaxLifetime / (24 * time.Hour))
	// The actions of memory_write.
	actionKeep, actionForget = "keep", "forget"
)

// Tools returns the three tools. The caller owns the slice; the tools may be used by many
// calls at once.
func Tools() []sallyport.Tool {
	reaches := []string{string(recall.Session), string(recall.Own), string(recall.Role)}
	return []sallyport.Tool{
		schema.MustTool(declare(sallyport.Tool{
			Name: "memory_write", Title: "Write Memory",
			Description: "Keep a short note for later under a key, in place of what the key had, or forget the note of a key. " +
				"Keep what will still be true and useful; never keep secrets.",
			Schema: args.Schema[writeInput](func(get func(string) args.Property) {
				get("action").OneOf(actionKeep, actionForget).Default(actionKeep)
				get("key").Length(1, recall.MaxKeyChars)
				get("text").Length(1, recall.MaxTextChars)
				get("reach").OneOf(reaches...).Default(string(recall.Own))
				get("days").Between(1, maxDays)
			}),
			Does: []sallyport.Effect{effect.Revocable}, Idempotent: true,
		}), writeMemory),
		schema.MustTool(declare(sallyport.Tool{
			Name: "memory_read", Title: "Read Memory",
			Description: "Find notes that were kept with memory_write, in this session or earlier: by words, by key, or the newest.",
			Schema: args.Schema[readInput](func(get func(string) args.Property) {
				get("query").Length(1, maxQueryChars)
				get("key").Length(1, recall.MaxKeyChars)
				get("reach").OneOf(reaches...)
				get("max_results").Between(1, recall.MaxFound).Default(defaultNotes)
				get("include_untrusted").Default(false)
			}),
			ReadOnly: true, Idempotent: true, MaxResultChars: resultChars,
		}), readMemory),
		schema.MustTool(declare(sallyport.Tool{
			Name: recall.SearchTool, Title: "Search Sessions",
			Description: "Find earlier calls of your own sessions in the record: by words in the tool, the arguments or the error. " +
				"Those with all words come first, the newest first, then those with some of them.",
			Schema: args.Schema[callsInput](func(get func(string) args.Property) {
				get("query").Length(1, maxQueryChars)
				get("session").OneOf(sessionThis, sessionAll).Default(sessionAll)
				get("since").Format("date")
				get("max_results").Between(1, maxCalls).Default(defaultCalls)
			}),
			ReadOnly: true, Idempotent: true, MaxResultChars: resultChars,
		}), searchSessions),
	}
}

// declare adds what the tools have in common. The store of the role is the widest that
// they use.
func declare(t sallyport.Tool) sallyport.Tool {
	t.Toolset = toolset
	t.Capabilities = sallyport.Capabilities{Storage: &sallyport.StorageCapability{Scope: sallyport.ScopePersonality, Kind: "kv"}}
	return t
}

// memoryOf returns the memory of a call.
func memoryOf(c *sallyport.Call) (recall.Memory, error) {
	if m := recall.Of(c.KV); m != nil {
		return m, nil
	}
	return nil, &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "this program keeps no memory"}
}
