package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
)

// cleanWord cleans and bounds a word that a caller chose: cleaning comes
// first, so that no cut leaves half of a secret.
func cleanWord(cl *output.Cleaner, s string) output.Clean {
	const most = 256
	word := cl.Text(s)
	return word[:len(text.FirstBytes(string(word), most))]
}

// cleanWords is cleanWord for a list; nil for an empty one.
func cleanWords(cl *output.Cleaner, list []string) []string {
	var clean []string
	for _, s := range list {
		clean = append(clean, string(cleanWord(cl, s)))
	}
	return clean
}

// logFault tells the operator's log what went wrong. Words of tools and
// backends may hold a secret there too.
func (c *call) logFault(what string, why any, more ...any) {
	if c.past != nil {
		return // its verdict says so
	}
	cl := c.cleaner()
	c.r.o.Logger.With("call", c.id, "tool", string(cleanWord(cl, c.q.Tool))).
		Error(what, append([]any{"error", string(cl.Text(fmt.Sprint(why)))}, more...)...)
}

// redactedArgs is the arguments as JSON without secrets, bounded; longer ones
// are recorded by their digest alone.
func (c *call) redactedArgs(cl *output.Cleaner) output.Clean {
	text, err := cl.JSON(c.doc.Value)
	if err != nil || len(text) > recordArgs {
		return ""
	}
	return text
}

// knownSecrets is the cleaner over every value that the secrets backend could
// hand out, and when it was asked.
type knownSecrets struct {
	values  []sallyport.Secret
	cleaner *output.Cleaner
	asked   time.Time
}

// secretsAge is how long the list of known values may be used: backends that
// read files do not look more often either. A value that an accessor hands
// out is known at once.
const secretsAge = time.Second

// knownCleaner returns the cleaner, asking the backend again when its answer
// is old. When it cannot answer, the old list stays in force.
func (r *Registry) knownCleaner(ctx context.Context) (*output.Cleaner, error) {
	now := time.Now()
	known := r.cleaner.Load()
	if known != nil && now.Sub(known.asked) < secretsAge {
		return known.cleaner, nil
	}
	var values []sallyport.Secret
	var err error
	if r.backends.Secrets != nil {
		if values, err = r.backends.Secrets.Known(ctx); err != nil {
			if known == nil {
				return nil, err
			}
			r.o.Logger.Error("known secrets", "error", err)
			values = known.values
		}
	}
	if known != nil && slices.Equal(values, known.values) {
		r.cleaner.Store(&knownSecrets{values, known.cleaner, now})
		return known.cleaner, nil
	}
	fresh, err := output.New(&output.Options{Secrets: r.searchableSecrets(values)})
	if err != nil {
		return nil, err
	}
	r.cleaner.Store(&knownSecrets{values, fresh, now})
	return fresh, nil
}

// searchableSecrets returns the secrets that can be told from ordinary text,
// unlike a value of eight blanks, which no accessor hands out. No accessor
// hands one out.
func (r *Registry) searchableSecrets(values []sallyport.Secret) []sallyport.Secret {
	out := make([]sallyport.Secret, 0, len(values))
	for _, v := range values {
		if err := output.CheckSecret(v); err != nil {
			r.o.Logger.Warn("a secret is not handed out", "reason", err)
			continue
		}
		out = append(out, v)
	}
	return out
}

// cleaner returns what cleans this call: every known value and those that
// its accessors handed out.
func (c *call) cleaner() *output.Cleaner {
	base, err := c.r.knownCleaner(context.Background())
	if err != nil {
		// The list was read at construction, so an old one is in force; a
		// failure here means that a fresh one could not be compiled.
		c.r.o.Logger.Error("known secrets", "error", err)
		base = c.r.cleaner.Load().cleaner
	}
	return base.With(c.binder.Revealed()...)
}
