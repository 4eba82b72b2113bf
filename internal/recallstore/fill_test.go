package recallstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// fillStore adds many notes in one transaction.
func fillStore(b *testing.B, s *Store, n int, word func() string) {
	b.Helper()
	err := s.runOn(b.Context(), func(c *sqlite3.Conn) error {
		if err := c.Exec("BEGIN"); err != nil {
			return err
		}
		for i := range n {
			words := make([]string, 40)
			for j := range words {
				words[j] = word()
			}
			err := runQuery(c, "INSERT INTO notes(side, key, text, call, author, written, expires) VALUES(?1, ?2, ?3, 'c', 'a', ?4, ?5)",
				[]any{sideOf(fmt.Sprint(i%10), false), fmt.Sprint(i), strings.Join(words, " "), start.UnixNano() + int64(i), start.AddDate(100, 0, 0).UnixNano()},
				func(*sqlite3.Stmt) {})
			if err == nil {
				side := sideOf(fmt.Sprint(i%10), false)
				err = runQuery(c, "INSERT INTO words(rowid, list) VALUES(?1, ?2)", []any{c.LastInsertRowID(), indexed(side, fmt.Sprint(i), strings.Join(words, " "))}, func(*sqlite3.Stmt) {})
			}
			if err != nil {
				return err
			}
		}
		return c.Exec("COMMIT")
	})
	if err != nil {
		b.Fatal(err)
	}
}
