package config

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// file is one file of a configuration.
type file struct {
	*yamldoc.Source // its name is as the user gave it
	// abs is the absolute name, dir the folder of abs.
	abs, dir string
	digest   [sha256.Size]byte
	// version is the version of the format; empty for the documents' form, which
	// is read as 1.
	version string
}

// loader is the state of one load.
type loader struct {
	opts   Options
	table  *table
	cfg    *Config
	files  []*file
	faults yamldoc.Collector
	// places holds where each key stands, by its full dotted name.
	places map[string]filePosition
	refs   []nameReference
	// declared counts the actions, ids holds where each id stands.
	declared int
	ids      map[string]filePosition
	// named counts the names under each key, tokens holds whose each is.
	named  map[string]int
	tokens map[string]string
	// badWorkspace is set when ${workspace} has no value because of a fault
	// that is reported already.
	badWorkspace bool
}

func newLoader(rows []row, o *Options) *loader {
	l := &loader{
		table: newTable(rows),
		cfg: &Config{
			Limits: LimitsState, Security: Security{RequireAuth: true}, Log: Log{Format: "text", Level: slog.LevelWarn},
			Personalities: map[string]*sallyport.Personality{},
		},
		places: map[string]filePosition{},
		ids:    map[string]filePosition{}, named: map[string]int{}, tokens: map[string]string{},
	}
	if o != nil {
		l.opts = *o
	}
	if l.opts.Home == "" && l.opts.Environ != nil {
		l.opts.Home = l.opts.Environ(homeVariable())
	}
	return l
}

func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// scope is where the walk is: what a row's check and set work on.
type scope struct {
	*loader
	file *file
	// name is the chosen name that is being read, empty outside of one.
	name string
	// p is the personality being read, nil outside of one; prefix is its key
	// with a final dot.
	p      *sallyport.Personality
	prefix string
}

// filePosition is a position in a file.
type filePosition struct {
	file *file
	at   yamldoc.Position
}

func (p filePosition) String() string { return p.file.PositionText(p.at) }

// newFault makes a fault with its snippet.
func (p filePosition) newFault(key, message string) yamldoc.Fault {
	return p.file.FaultAt(p.at, key, message)
}

// addFault reports something at a position.
func (l *loader) addFault(f *file, at yamldoc.Position, key, format string, args ...any) {
	l.faults.Add(f.Source, yamldoc.Fault{File: f.Name, Line: at.Line, Column: at.Column, Key: key, Message: fmt.Sprintf(format, args...)})
}

// keyFault reports something about a key. Its value is not understood, so it
// may be a secret and is kept out of snippets.
func (l *loader) keyFault(f *file, at yamldoc.Position, key, format string, args ...any) {
	if l.faults.IsFull() {
		// This one is not printed; where its value begins is not worth a search.
		f.HideFrom(at.Line, 0)
		return
	}
	f.HideAfterKey(at)
	l.addFault(f, at, key, format, args...)
}

// valueFault reports something about the value of a key.
func (s scope) valueFault(r *row, at yamldoc.Position, key, format string, args ...any) {
	if r.hide {
		s.file.HideFrom(at.Line, at.Column-1)
	}
	s.addFault(s.file, at, key, format, args...)
}
