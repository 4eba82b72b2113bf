package database_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

// gate registers a tool over a backend.
func gate(t *testing.T, b sallyport.DatabaseBackend, tool sallyport.Tool) func(args string, permissions ...string) sallyport.Result {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{Databases: b}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Register(tool); err != nil {
		t.Fatal(err)
	}
	return func(args string, permissions ...string) sallyport.Result {
		return r.Call(t.Context(), &sallyport.Caller{
			Principal: sallyport.Principal{Name: "p", Permissions: permissions}, Session: "s",
		}, sallyport.Request{Tool: tool.Name, Args: json.RawMessage(args)})
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	b, err := database.Open(map[string]database.Connection{
		"shop": {Driver: sqlite.Driver(), Path: newSQLite(t)}, "other": {Driver: sqlite.Driver(), Path: newSQLite(t)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	call := gate(t, b, database.Tool([]string{"shop", "other"}, ""))
	for _, c := range []struct {
		name, args string
		code       sallyport.Code
		want       string
	}{
		{
			"rows", `{"connection":"shop","query":"SELECT id, name FROM items WHERE price BETWEEN ? AND 9 ORDER BY id","params":[2]}`, "",
			"<untrusted source=\"query:SELECT id, name FROM items WHERE price BETWEEN ? AND 9 ORDER BY id\" tool=\"db-query\">\n[\"id\",\"name\"]\n[2,\"pear\"]\n[3,\"plum\"]\n(2 rows)\n</untrusted>",
		},
		{"the other one", `{"query":"SELECT 1 AS n","connection":"other"}`, "", "[\"n\"]\n[1]\n(1 row)"},
		{"exact number", `{"connection":"shop","query":"SELECT ? AS n","params":[9007199254740993]}`, "", "[\"n\"]\n[\"9007199254740993\"]\n(1 row)"},
		{"write", `{"connection":"shop","query":"DELETE FROM items"}`, sallyport.CodeExecutionFailed, "the query on shop failed: authorization denied"},
		{"unknown connection", `{"query":"SELECT 1","connection":"third"}`, sallyport.CodeInputInvalid, "connection"},
		{"no query", `{}`, sallyport.CodeInputInvalid, "query"},
		{"object as parameter", `{"query":"SELECT ?","params":[{}]}`, sallyport.CodeInputInvalid, "params"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := call(c.args, "database:read")
			if res.Code != c.code || !strings.Contains(res.Value+res.Error, c.want) {
				t.Errorf("Call(%s) = %+v, want %q with %q", c.args, res, c.code, c.want)
			}
		})
	}
	if res := call(`{"query":"SELECT 1"}`, "database:write"); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("Call() without database:read = %+v", res)
	}
	res := call(`{"connection":"shop","query":"SELECT id, x'00' FROM items LIMIT 1"}`, "database:read")
	got, err := json.Marshal(res.Structured)
	if want := `{"affected":0,"columns":["id","x'00'"],"rows":[[1,{"base64":"AA=="}]],"truncated":false}`; err != nil || string(got) != want {
		t.Errorf("structured = %s, want %s", got, want)
	}
}

// TestC10_OneConnectionNeedsNoName asks for the connection where there are
// several, and names them.
func TestC10_OneConnectionNeedsNoName(t *testing.T) {
	t.Parallel()
	b, err := database.Open(map[string]database.Connection{
		"analytics": {Driver: sqlite.Driver(), Path: newSQLite(t)}, "billing": {Driver: sqlite.Driver(), Path: newSQLite(t)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	const in = `{"query":"SELECT 1 AS n"}`
	for _, only := range []string{"analytics", "billing"} {
		if res := gate(t, b, database.Tool([]string{only}, ""))(in, "database:read"); !res.OK {
			t.Errorf("Call(%s) with %s alone = %+v, want a success", in, only, res)
		}
	}
	res := gate(t, b, database.Tool([]string{"analytics", "billing"}, ""))(in, "database:read")
	if want := `/connection: is required: one of "analytics", "billing"`; res.Code != sallyport.CodeInputInvalid || !strings.Contains(res.Error, want) {
		t.Errorf("Call(%s) with two = %+v, want %q", in, res, want)
	}
}

func TestToolCutsBothPartsAlike(t *testing.T) {
	t.Parallel()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, nil)
	call := gate(t, b, database.Tool([]string{"db"}, sallyport.ModeRead))
	res := call(`{"query":"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 900) SELECT printf('%.1000c', 'x') FROM n"}`, "database:read")
	rows, _ := res.Structured["rows"].([]any)
	if !res.OK || res.Structured["truncated"] != true || len(rows) < 100 || len(rows) > 210 {
		t.Errorf("Call() = %.100s %s, %d rows, truncated %v", res.Value, res.Error, len(rows), res.Structured["truncated"])
	}
}

func TestToolThatWrites(t *testing.T) {
	t.Parallel()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, nil)
	tool := database.Tool([]string{"db"}, sallyport.ModeWrite)
	if tool.ReadOnly || !tool.Destructive() {
		t.Errorf("Tool(write) says read-only %t, destructive %t", tool.ReadOnly, tool.Destructive())
	}
	call := gate(t, b, tool)
	const q = `{"query":"DELETE FROM items WHERE id < ?","params":[3]}`
	if res := call(q, "database:read"); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("Call() without database:write = %+v", res)
	}
	res := call(q, "database:write")
	want := map[string]any{"affected": 2.0, "columns": []any{}, "rows": []any{}, "truncated": false}
	if diff := cmp.Diff(want, res.Structured); diff != "" || !strings.Contains(res.Value, "(2 rows changed)") {
		t.Errorf("Call() = %+v (-want +got):\n%s", res, diff)
	}
}
