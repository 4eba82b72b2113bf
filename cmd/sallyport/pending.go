package main

import (
	"path/filepath"

	"github.com/sallyport/sallyport/internal/pending"
)

// pending is where changes wait that a person has to see first.
func (g *gate) pending(env *environment) pending.Store {
	return pending.Store{Dir: filepath.Join(g.ownFolder(env.dir), "pending")}
}
