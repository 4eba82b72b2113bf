package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

const goMain = `package main

import (
	"fmt"
	"net"

	"github.com/google/go-cmp/cmp"
)

func main() { fmt.Println(Greet("gate"), cmp.Equal(1, 1), net.ParseIP("127.0.0.1")) }

func Greet(name string) string { return "hello, " + name }
`

const goTest = `package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

func TestGreet(t *testing.T) {
	if got := Greet("x"); got != "hello, x" {
		t.Fatal(got)
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if _, err := http.Get(s.URL); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(t.TempDir()+"/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
`

func TestGo(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	installed(t, "go")
	home := os.Getenv("HOME")
	r := open(t, &Options{Toolchains: Toolchains(home)})
	w := workspace(t, r)
	w.write("go.mod", "module example.org/hello\n\ngo 1.26\n\nrequire github.com/google/go-cmp "+cmpVersion(t)+"\n")
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	w.write("go.sum", string(sums))
	w.write("main.go", goMain)
	w.write("main_test.go", goTest)
	env := map[string]string{"GOPROXY": "off", "GOFLAGS": "-mod=mod"}
	w.ok(env, "go", "vet", ".")
	w.ok(env, "go", "build", "-o", "hello", ".")
	if _, err := os.Stat(filepath.Join(w.dir, "hello")); err != nil {
		t.Errorf("go build left nothing: %v", err)
	}
	if out := w.ok(env, "go", "run", "."); !strings.HasPrefix(out, "hello, gate true") {
		t.Errorf("go run = %q", out)
	}
	if out := w.ok(env, "go", "test", "."); !strings.HasPrefix(out, "ok") {
		t.Errorf("go test = %q", out)
	}
	// What was built lies where the tool may write, and is not a program.
	if res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "./hello"); res.ExitCode != 126 {
		t.Errorf("a program in the write reach = exit %d, want 126", res.ExitCode)
	}
	if _, err := os.Stat(filepath.Join(home, "go", "pkg", "mod", "sallyport-was-here")); err == nil {
		t.Error("the host's module cache was written")
	}
}

// cmpVersion is the version of go-cmp that this module uses, which its cache
// holds.
func cmpVersion(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "github.com/google/go-cmp ")
	return strings.Fields(rest)[0]
}

func TestCompilers(t *testing.T) {
	t.Parallel()
	t.Run("make and gcc", func(t *testing.T) {
		t.Parallel()
		installed(t, "make", "gcc")
		w := workspace(t, open(t, nil))
		w.write("Makefile", "all: hello\n\t/tmp/hello\nhello: hello.o other.o\n\t$(CC) -o /tmp/hello $^ -lpthread\n")
		w.write("other.c", "const char *name(void) { return \"make\"; }\n")
		w.write("hello.c", "#include <stdio.h>\nconst char *name(void);\nint main(void) { printf(\"hello, %s\\n\", name()); }\n")
		if out := w.ok(nil, "make", "-s", "-j2"); out != "hello, make\n" {
			t.Errorf("make = %q", out)
		}
	})
	t.Run("java", func(t *testing.T) {
		t.Parallel()
		installed(t, "java")
		w := workspace(t, open(t, nil))
		w.write("Hello.java", `public class Hello { public static void main(String[] a) throws Exception {
  Thread t = new Thread(() -> System.out.println("hello, java")); t.start(); t.join();
  java.security.MessageDigest.getInstance("SHA-256"); java.util.TimeZone.getDefault();
} }`)
		if out := w.ok(nil, "java", "Hello.java"); out != "hello, java\n" {
			t.Errorf("java = %q", out)
		}
		// Passwords of remote management lie beside what Java needs.
		for _, dir := range []string{"/etc/java-17-openjdk/management", "/etc/java-21-openjdk/management"} {
			if res := w.run(sallyport.SpawnOptions{}, "ls", dir); res.ExitCode == 0 {
				t.Errorf("ls %s succeeded: %s", dir, res.Stdout)
			}
		}
	})
	t.Run("cargo", func(t *testing.T) {
		t.Parallel()
		installed(t, "cargo")
		w := workspace(t, open(t, &Options{Toolchains: Toolchains(os.Getenv("HOME"))}))
		w.write("Cargo.toml", "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
		w.write("src/main.rs", "fn main() { println!(\"hello, cargo\"); }\n")
		if out := w.ok(map[string]string{"CARGO_TARGET_DIR": "/tmp/target"}, "cargo", "run", "-q", "--offline"); out != "hello, cargo\n" {
			t.Errorf("cargo = %q", out)
		}
	})
}
