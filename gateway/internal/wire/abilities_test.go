package wire

import "testing"

func TestReadAbilities(t *testing.T) {
	for text, want := range map[string]Abilities{
		`{}`:                                                    {},
		`{"elicitation":{}}`:                                    {Elicits: true},
		`{"elicitation":{"form":{}}}`:                           {Elicits: true},
		`{"elicitation":{"url":{}}}`:                            {},
		`{"elicitation":{"form":{},"url":{}}}`:                  {Elicits: true},
		`{"elicitation":null,"sampling":{}}`:                    {Samples: true},
		`{"ELICITATION":{},"roots":{}}`:                         {Roots: true},
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`:   {Tasks: true},
		`{"extensions":{"io.modelcontextprotocol/tasks":null}}`: {},
		`{"extensions":{"IO.modelcontextprotocol/tasks":{}}}`:   {},
	} {
		if got, err := ReadAbilities([]byte(text)); err != nil || got != want {
			t.Errorf("ReadAbilities(%s) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{``, `null`, `[]`, `"x"`, `{"elicitation":[]}`, `{"sampling":true}`, `{"roots":1}`, `{"extensions":7}`, `{"elicitation":{},"elicitation":{}}`} {
		if got, err := ReadAbilities([]byte(text)); err == nil {
			t.Errorf("ReadAbilities(%s) = %+v, want an error", text, got)
		}
	}
}

// An id is repeated so that every reader takes it for the one that was sent.
func TestIDsAreRepeatedPlainly(t *testing.T) {
	for id, want := range map[string]string{
		`7`: `7`, `-0`: `0`, `"x"`: `"x"`, `"\u0061"`: `"a"`, "\"\xff\"": `"` + "\uFFFD" + `"`, `"a\"b"`: `"a\"b"`,
	} {
		m, err := Open([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`))
		if err != nil || string(m.ID) != want {
			t.Errorf("Open() with the id %s = %s, %v, want %s", id, m.ID, err, want)
		}
	}
}
