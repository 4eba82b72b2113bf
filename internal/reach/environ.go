package reach

import (
	"slices"
	"strings"
)

// ReservedEnv reports whether a variable is kept from a child when a tool sets
// it: one that loads code, runs commands, names configuration that does, finds
// other programs, or goes around the proxy and its certificates; and one whose
// name is not portable, the form in which shells export functions. Names are
// compared in upper case, because curl and npm read lower case too. No grant
// changes it, and a configuration that names one is refused.
//
// The tables grew from glibc's list for privileged programs
// (sysdeps/generic/unsecvars.h), sudo's initial_badenv_table
// (plugins/sudoers/env.c), the environment sections of git(1), bash(1),
// python(1), node(1), perlrun(1), ruby(1), less(1), curl(1), ssh(1) and gpg(1),
// openssl-env(7), and the environment sections of the manuals of the compilers,
// build tools, test runners, package managers, pagers, editors and archivers
// that are found on developers' machines and run a command, load a library or
// read a file that a variable names.
func ReservedEnv(name string) bool {
	if !IsEnvName(name) {
		return true
	}
	name = strings.ToUpper(name)
	if _, found := slices.BinarySearch(harmlessNames[:], name); found {
		return false
	}
	if _, found := slices.BinarySearch(reservedNames[:], name); found {
		return true
	}
	return slices.ContainsFunc(reservedPrefixes[:], func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(reservedSuffixes[:], func(p string) bool { return strings.HasSuffix(name, p) })
}

var reservedPrefixes = [...]string{
	// Loaders and the C library.
	"LD_", "DYLD_", "GCONV_", "GLIBC_", "MALLOC_", "GETCONF_", "RESOLV_",
	// Shells.
	"BASH_", "KSH_", "ZSH_",
	// Interpreters and managed runtimes.
	"PYTHON", "PYENV_", "NODE_", "NPM_", "TS_NODE_", "PERL", "RUBY", "GEM_", "BUNDLE_", "JAVA_", "_JAVA_", "JDK_", "LUA_",
	"DOTNET_", "CORECLR_", "COMPLUS_", "COR_", "JULIA_", "ERL_", "GUILE_", "PIP_", "UV_", "DENO_", "BUN_",
	// Compilers, builds and tests.
	"GO", "CGO_", "RUST", "CARGO_", "CMAKE_", "CCACHE_", "YARN_", "COREPACK_", "PYTEST_",
	// Tools that take commands or configuration from their environment.
	"GIT_", "SSH_", "GPG_", "SUDO_", "SYSTEMD_", "DBUS_", "LESS", "GROFF_", "RSYNC_", "ANSIBLE_", "HELM_", "CLOUDSDK_",
	"TF_CLI_", "PKG_CONFIG", "QT_", "GIO_",
	// Trust stores, credentials of other systems, the runtime's own.
	"SSL_", "OPENSSL_", "CURL_", "DOCKER_", "KUBE_", "XDG_", "SALLYPORT_",
}

// reservedSuffixes end the names in which programs take more arguments, and
// commands.
var reservedSuffixes = [...]string{
	"_PROXY", "OPT", "OPTS", "_OPTIONS", "_ARGS", "_RSH", "_ASKPASS", "_PAGER", "_EDITOR", "_CA_BUNDLE", "_CONFIG_PATH",
	"_CONFIG_FILE",
}

// harmlessNames is sorted: those that begin like reserved ones and choose only
// for what a compiler builds, or between two ways that it knows; a key of a
// service; and a mark that programs find in a container.
var harmlessNames = [...]string{
	"CGO_ENABLED", "DOCKER_CONTAINER", "GOAMD64", "GOARCH", "GOARM", "GOARM64", "GOOGLE_API_KEY", "GOOGLE_MAPS_API_KEY", "GOOS",
}

// reservedNames is sorted. What a prefix or a suffix covers is not repeated.
var reservedNames = [...]string{
	"AR", "AS", "AWKLIBPATH", "AWKPATH", "AWS_SHARED_CREDENTIALS_FILE", "BROWSER", "CAML_LD_LIBRARY_PATH", "CC",
	"CDPATH", "CLASSPATH", "COLLECT_LTO_WRAPPER", "COMPILER_PATH", "COMSPEC", "COVERAGE_PROCESS_START", "CPATH", "CPLUS_INCLUDE_PATH",
	"CPP", "CXX", "C_INCLUDE_PATH", "DEPENDENCIES_OUTPUT", "DISPLAY", "EDITOR", "ENV", "EXINIT", "FC", "FCEDIT", "FPATH",
	"GCC_EXEC_PREFIX", "GNUMAKEFLAGS", "GNUPGHOME", "GRADLE_USER_HOME", "GTK_MODULES", "HG", "HGMERGE", "HGRCPATH",
	"HISTFILE", "HOME", "HOSTALIASES", "IFS", "INPUTRC", "KRB5_CONFIG", "KUBECONFIG", "LD", "LIBRARY_PATH",
	"LOCALDOMAIN", "LOCPATH", "MAKE", "MAKEFILES", "MAKEFLAGS", "MANPAGER", "MANPATH", "MFLAGS", "MPLBACKEND",
	"MUSL_LOCPATH", "MYPYPATH", "NIS_PATH", "NLSPATH", "NULLCMD", "OBJC_INCLUDE_PATH", "PAGER", "PATH", "PATHEXT", "PATH_LOCALE",
	"PHPRC", "PHP_INI_SCAN_DIR", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "PSMODULEPATH",
	"PSQLRC", "READNULLCMD", "RMT", "R_ENVIRON", "R_ENVIRON_USER", "R_HOME", "R_LIBS", "R_LIBS_USER", "R_PROFILE",
	"R_PROFILE_USER", "SASL_PATH", "SHELL", "SVN_SSH", "SYSTEMROOT", "SYSTEM_WGETRC", "TAPE", "TCLLIBPATH", "TEMP",
	"TERMCAP", "TERMINFO", "TERMINFO_DIRS", "TERMPATH", "TMP", "TMPDIR", "TZDIR", "UNZIP", "VIMINIT", "VISUAL",
	"WAYLAND_DISPLAY", "WGETRC", "XAUTHORITY", "ZDOTDIR",
}
