package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// TasksExtension names the protocol extension that defines tasks.
const TasksExtension = "io.modelcontextprotocol/tasks"

// Abilities is what a client declares that it can do, as far as it matters here.
type Abilities struct {
	// Elicits means that it shows forms to a person.
	Elicits bool
	// Samples means that it puts questions to its model.
	Samples bool
	// Roots means that it names its folders.
	Roots bool
	// Tasks means that it knows the tasks extension.
	Tasks bool
}

// ReadAbilities reads the capabilities of a client. An absent or null capability is
// not declared. The error is that a value is not an object, or repeats a key.
func ReadAbilities(capabilities json.RawMessage) (a Abilities, err error) {
	if len(capabilities) == 0 || capabilities[0] != '{' {
		return a, errors.New("expected an object")
	}
	if len(capabilities) == len("{}") {
		return a, nil
	}
	all, err := ReadObject(capabilities)
	if err != nil {
		return a, err
	}
	var errs [5]error
	var elicitation, extensions Members
	elicitation, a.Elicits, errs[0] = objectOf(all, "elicitation")
	_, a.Samples, errs[1] = objectOf(all, "sampling")
	_, a.Roots, errs[2] = objectOf(all, "roots")
	_, _, errs[3] = objectOf(all, "experimental")
	extensions, _, errs[4] = objectOf(all, "extensions")
	// A client that names neither forms nor addresses supports forms.
	a.Elicits = a.Elicits && (isDeclared(elicitation, "form") || !isDeclared(elicitation, "url"))
	if tasks := extensions.Value(TasksExtension); tasks != nil {
		a.Tasks = tasks[0] == '{'
	}
	return a, cmp.Or(errs[:]...)
}

// CheckClient refuses the description of a client that is not an object with a name
// and a version as texts. An absent one is right.
func CheckClient(described json.RawMessage) error {
	if described == nil {
		return nil
	}
	if described[0] != '{' {
		return errors.New("expected an object")
	}
	all, err := ReadObject(described)
	for _, key := range [...]string{"name", "title", "version"} {
		if err == nil {
			_, err = all.Text(key)
		}
	}
	return err
}

// objectOf returns the members of a capability and whether it is declared.
func objectOf(all Members, key string) (of Members, declared bool, err error) {
	if !isDeclared(all, key) {
		return nil, false, nil
	}
	if of, err = ReadObject(all.Value(key)); err != nil {
		return nil, false, fmt.Errorf("%s: %w", key, err)
	}
	return of, true, nil
}

func isDeclared(all Members, key string) bool {
	value := all.Value(key)
	return value != nil && value[0] != 'n'
}
