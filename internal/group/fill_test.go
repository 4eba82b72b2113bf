package group_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// samples are two values for each text of a declaration, by its path from
// [sallyport.Capabilities]. A group that is added needs its own.
var samples = map[string][2]string{
	"Network.AllowedHosts":    {"a.example.com", "b.example.com"},
	"Secrets":                 {"first/key", "second/key"},
	"Storage.Scope":           {"session", "personality"},
	"Storage.Kind":            {"kv", "other"},
	"FSReach.Read.Paths":      {"/srv/read", "/srv/more"},
	"FSReach.Write.Paths":     {"/srv/write", "/srv/write/bin"},
	"FSReach.Mode":            {"overlay", "direct"},
	"Process.AllowedBinaries": {"git", "make"},
	"Process.ExecFrom":        {"/srv/write/bin", "/srv/write/sbin"},
	"Process.Programs":        {"/opt/program.js", "/opt/other.js"},
	"Attachments.Kinds":       {"image", "file"},
	"Database.Connections":    {"orders", "customers"},
	"Database.Mode":           {"write", "read"},
	"Mail.Relay":              {"office", "backup"},
	"Mail.To":                 {"a@example.com", "b@example.com"},
	"Input":                   {"person", "model"},
}

// A leaf is one field of a declaration that holds no other fields.
type leaf struct {
	path string
	v    reflect.Value
}

// full returns a declaration in which every field is set but the words that
// stand for a list.
func full(t *testing.T) *sallyport.Capabilities {
	t.Helper()
	c := &sallyport.Capabilities{}
	for _, l := range leavesOf(reflect.ValueOf(c).Elem(), "", true) {
		l.set(t, 0)
	}
	return c
}

// leavesOf lists the leaves below a value. With make, groups that are not there
// are made.
func leavesOf(v reflect.Value, path string, makeGroups bool) (list []leaf) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && !makeGroups {
			return nil
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return leavesOf(v.Elem(), path, makeGroups)
	case reflect.Struct:
		for i := range v.NumField() {
			at := strings.TrimPrefix(path+"."+v.Type().Field(i).Name, ".")
			list = append(list, leavesOf(v.Field(i), at, makeGroups)...)
		}
		return list
	default:
		return []leaf{{path, v}}
	}
}

// set gives a leaf one of its two samples. A flag is a word that stands for the
// list beside it and stays false.
func (l leaf) set(t *testing.T, which int) {
	t.Helper()
	switch l.v.Kind() {
	case reflect.Bool:
	case reflect.Int64:
		l.v.SetInt(int64(60 + which))
	case reflect.String:
		l.v.SetString(l.sample(t, which))
	case reflect.Slice:
		list := reflect.MakeSlice(l.v.Type(), 1, 1)
		list.Index(0).SetString(l.sample(t, which))
		l.v.Set(list)
	default:
		t.Fatalf("%s is a %s, which the tests of the table cannot fill: teach them", l.path, l.v.Kind())
	}
}

func (l leaf) sample(t *testing.T, which int) string {
	t.Helper()
	s, ok := samples[l.path]
	if !ok {
		t.Fatalf("%s has no samples: add two valid values", l.path)
	}
	return s[which]
}

// texts lists the texts and numbers of a declaration with their paths.
func texts(t *testing.T, c *sallyport.Capabilities) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, l := range leavesOf(reflect.ValueOf(c).Elem(), "", false) {
		if v := l.v; v.Kind() == reflect.Slice && v.Len() > 0 {
			found[l.path] = v.Index(0).String()
		} else if v.Kind() != reflect.Bool && v.Kind() != reflect.Slice && !v.IsZero() {
			found[l.path] = fmt.Sprint(v)
		}
	}
	return found
}

// shared lists the paths at which two values hold the same memory.
func shared(a, b reflect.Value, path string) (paths []string) {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return nil
		}
		if a.Pointer() == b.Pointer() {
			return []string{path}
		}
		return shared(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		for i := range a.NumField() {
			paths = append(paths, shared(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name)...)
		}
	case reflect.Slice, reflect.Map:
		if !a.IsNil() && a.Pointer() == b.Pointer() {
			return []string{path}
		}
	}
	return paths
}
