package database_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestADriverBringsItsOwnModuleOnly checks what a program depends on that has a
// gate and uses one kind of database.
func TestADriverBringsItsOwnModuleOnly(t *testing.T) {
	t.Parallel()
	const (
		module = "github.com/sallyport/sallyport"
		here   = module + "/tools/database"
	)
	modules := []string{"github.com/jackc/pgx", "github.com/go-sql-driver/mysql", "github.com/ncruces/go-sqlite3"}
	for _, tt := range []struct{ pkg, module string }{
		{here, ""},
		{here + "/postgres", "github.com/jackc/pgx"},
		{here + "/mysql", "github.com/go-sql-driver/mysql"},
		{here + "/sqlite", "github.com/ncruces/go-sqlite3"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"/registry", tt.pkg).Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", tt.pkg, err)
		}
		for _, driver := range modules {
			has := strings.Contains("\n"+string(out), "\n"+driver)
			if want := driver == tt.module; has != want {
				t.Errorf("%s depends on %s: %t, want %t", tt.pkg, driver, has, want)
			}
		}
	}
}
