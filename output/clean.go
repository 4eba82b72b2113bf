package output

import "sync"

// Clean is a text that may leave the program: to a model, into a record, onto
// a page. [Cleaner.Text], [Cleaner.JSON] and [Wrap] make one, and [Trim] keeps
// it one. A constant is one too. No other code converts a string to it: what a
// record already holds is read back as it was written.
//
// It is a string, and not a struct that cannot be made elsewhere, because
// records are encoded and compared as strings on the path of every call. A
// test of the repository finds conversions outside of this package.
type Clean string

// Plain returns a Cleaner without known secrets, for texts of the operator and
// of other parties that no call handed a secret to. It is the same one each
// time.
func Plain() *Cleaner { return plainCleaner() }

var plainCleaner = sync.OnceValue(func() *Cleaner {
	// Without values, there is none to be refused.
	c, _ := New(nil)
	return c
})
