package config

import (
	"strings"
	"testing"
	"time"
)

func TestQueriesOfSets(t *testing.T) {
	tests := []struct {
		text string
		want KnownQuery // of what is accepted
		err  string     // in the fault of what is not
	}{
		{text: `{connection: bank, sql: select iban from payees}`, want: KnownQuery{"bank", "select iban from payees", 5 * time.Minute}},
		{text: "{connection: bank, sql: \"select iban\\nfrom payees\", refresh: 5s}", want: KnownQuery{"bank", "select iban\nfrom payees", 5 * time.Second}},
		{text: `{connection: bank, sql: select 1, refresh: 1d}`, want: KnownQuery{"bank", "select 1", 24 * time.Hour}},
		{text: `{connection: bnak, sql: select 1}`, err: `s.yaml:3:41: known.payees.query.connection: "bnak" is not defined under databases; did you mean "bank"?`},
		{text: `{connection: bank}`, err: "missing key known.payees.query.sql"},
		{text: `{sql: select 1}`, err: "missing key known.payees.query.connection"},
		{text: `{connection: bank, sql: " "}`, err: "known.payees.query.sql: an empty text"},
		{text: `{connection: bank, sql: select 1, refresh: 4s}`, err: "expected 5s to 1d"},
		{text: `{connection: bank, sql: select 1, refresh: 2d}`, err: "expected 5s to 1d"},
		{text: `{connection: bank, sql: select 1, refresh: 5}`, err: "expected text, found a number"},
		{text: `{connection: bank, sql: select 1, params: [a]}`, err: `s.yaml:3:74: unknown key "params"`},
		{text: `select iban from payees`, err: "expected a mapping, found text"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 2\ndatabases: {bank: {driver: sqlite, path: bank.db}}\nknown: {payees: {kind: account, query: "+tt.text+"}}\n"), testOptions())
			switch {
			case tt.err == "" && (err != nil || c.Known["payees"].Query == nil || *c.Known["payees"].Query != tt.want):
				t.Errorf("Parse = %+v, %v, want %+v", c, err, tt.want)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("Parse = %v, want %q", err, tt.err)
			}
		})
	}
}
