package database_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
	"github.com/sallyport/sallyport/tools/database/postgres"
)

// TestCallsDoNotSeeEachOther runs more queries at once than there are places.
func TestCallsDoNotSeeEachOther(t *testing.T) {
	for _, s := range servers(t) {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s.read, nil)
			const calls = 30
			errs := make([]error, calls)
			var wg sync.WaitGroup
			for i := range calls {
				wg.Go(func() {
					got, err := b.Query(t.Context(), "db", sallyport.ModeRead, fmt.Sprintf("SELECT %d FROM items WHERE id = 1", i), nil)
					if err == nil && (len(got.Rows) != 1 || got.Rows[0][0] != int64(i)) {
						err = fmt.Errorf("rows = %v, want %d", got.Rows, i)
					}
					errs[i] = err
				})
			}
			wg.Wait()
			for i, err := range errs {
				if err != nil {
					t.Errorf("query %d: %v", i, err)
				}
			}
		})
	}
}

// TestSettingsEndWithTheQuery leaves a variable and asks for it.
func TestSettingsEndWithTheQuery(t *testing.T) {
	m := newMaria(t)
	p := newPostgres(t)
	for _, c := range []struct {
		c         database.Connection
		set, read string
	}{
		{database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, "SELECT @left := 'secret'", "SELECT @left"},
		{database.Connection{Driver: postgres.Driver(), URL: fixed(p.readURL)}, "SELECT set_config('my.left', 'secret', false)", "SELECT NULLIF(current_setting('my.left', true), '')"},
	} {
		b := open(t, c.c, nil)
		if _, err := query(t, b, "", c.set); err != nil {
			t.Errorf("%s: %v", c.set, err)
		}
		if got, err := query(t, b, "", c.read); err != nil || got.Rows[0][0] != nil {
			t.Errorf("%s = %v, %v, want null", c.read, got, err)
		}
	}
}
