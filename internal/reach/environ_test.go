package reach

import (
	"slices"
	"strings"
	"testing"
)

func TestReservedNamesAreSorted(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(reservedNames[:]) || !slices.IsSorted(harmlessNames[:]) {
		t.Error("reservedNames and harmlessNames are not sorted, which the search in them needs")
	}
}

func TestReservedEnv(t *testing.T) {
	for _, name := range []string{
		"PATH", "Path", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "GIT_DIR", "git_ssh_command", "https_proxy", "NO_PROXY",
		"HOME", "TMPDIR", "IFS", "NODE_OPTIONS", "PYTHONPATH", "PERL5LIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "TAR_OPTIONS",
		"MAVEN_OPTS", "SSH_ASKPASS", "REQUESTS_CA_BUNDLE", "BASH_FUNC_ls%%", "A B", "SALLYPORT_SECRET_X", "ZDOTDIR",
		"GOCACHEPROG", "GOAUTH", "GOROOT", "GOTOOLDIR", "GOWORK", "GOPATH", "GOBIN", "GOCACHE", "GOFLAGS", "CGO_CFLAGS", "CC",
		"CXX", "AR", "LD", "PKG_CONFIG", "CPATH", "LIBRARY_PATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "MYPYPATH", "MPLBACKEND",
		"COVERAGE_PROCESS_START", "UV_INDEX_URL", "PYENV_VERSION", "YARN_RC_FILENAME", "COREPACK_NPM_REGISTRY", "TS_NODE_COMPILER",
		"MAVEN_ARGS", "GRADLE_USER_HOME", "ANT_ARGS", "PERL_MM_OPT", "PERL5LIB", "PERLLIB", "RAKEOPT", "RUSTC", "RUSTC_WRAPPER",
		"RUSTDOCFLAGS", "RUSTUP_TOOLCHAIN", "CMAKE_TOOLCHAIN_FILE", "CCACHE_PREFIX", "LESS", "LESSOPEN", "LESSKEYIN", "RSYNC_RSH",
		"RSYNC_CONNECT_PROG", "CVS_RSH", "SVN_SSH", "HGRCPATH", "HG", "HGMERGE", "UNZIP", "ZIPOPT", "TAPE", "RMT", "VIMINIT",
		"EXINIT", "MANOPT", "MANPATH", "MANPAGER", "GROFF_BIN_PATH", "AWKPATH", "PSQLRC", "KRB5_CONFIG", "SASL_PATH", "GTK_MODULES",
		"GIO_MODULE_DIR", "QT_PLUGIN_PATH", "MUSL_LOCPATH", "NULLCMD", "PS0", "PS2", "PS4", "FCEDIT", "HISTFILE", "ANSIBLE_LIBRARY",
		"HELM_PLUGINS", "CLOUDSDK_PYTHON", "TF_CLI_ARGS", "TF_CLI_ARGS_plan", "SYSTEM_WGETRC", "DISPLAY", "WAYLAND_DISPLAY",
		"SOMETOOL_ARGS", "SOME_RSH", "SOMEOPTS", "CAML_LD_LIBRARY_PATH", "COLLECT_LTO_WRAPPER", "DEPENDENCIES_OUTPUT",
	} {
		if !ReservedEnv(name) {
			t.Errorf("ReservedEnv(%q) = false, want true", name)
		}
	}
	for _, name := range []string{
		"FOO", "LANG", "LC_ALL", "TERM", "TZ", "USER", "CI", "NO_COLOR", "COLUMNS", "DEBUG", "GOOS", "CGO_ENABLED",
		"GOARCH", "GOARM", "GOAMD64", "GOOGLE_API_KEY", "GOOGLE_MAPS_API_KEY", "DOCKER_CONTAINER",
		"FORCE_COLOR", "CLICOLOR", "LOG_LEVEL", "PORT", "HOST", "HTTP_PORT", "DATABASE_HOST", "APP_ENV", "RAILS_ENV", "VERBOSE",
		"LC_CTYPE", "LINES", "LOGNAME", "PWD", "SHLVL", "SOURCE_DATE_EPOCH", "OPTION", "ARGS", "ARGSUSED", "CCC", "ASSET",
		"API_KEY", "DATABASE_URL", "MAKER", "PATHS", "MY_PATH", "R_VALUE", "PHPUNIT",
	} {
		if ReservedEnv(name) {
			t.Errorf("ReservedEnv(%q) = true, want false", name)
		}
	}
}

// FuzzReservedEnv: the case of a name does not matter, and what passes could
// be written by a shell.
func FuzzReservedEnv(f *testing.F) {
	for _, name := range []string{"PATH", "ld_preload", "FOO", "a=b", "BASH_FUNC_x%%", "ſsl_cert_file"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := ReservedEnv(name)
		if got != ReservedEnv(strings.ToUpper(name)) && isASCII(name) {
			t.Errorf("ReservedEnv(%q) = %t depends on the case", name, got)
		}
		if !got && strings.ContainsAny(name, "=%() \x00\n") || !got && !isASCII(name) {
			t.Errorf("ReservedEnv(%q) = false, want true for a name that no shell writes", name)
		}
	})
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= 0x80 })
}
