package scoped

import (
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
)

// reservedEnv reports whether a variable is kept from a child when a tool sets
// it: one that loads code, runs commands, names configuration that does, finds
// other programs, or goes around the proxy and its certificates; and one whose
// name is not portable, the form in which shells export functions. Names are
// compared in upper case, because curl and npm read lower case too.
//
// The tables grew from glibc's list for privileged programs
// (sysdeps/generic/unsecvars.h), sudo's initial_badenv_table
// (plugins/sudoers/env.c), the environment sections of git(1), bash(1),
// python(1), node(1), perlrun(1), ruby(1), less(1), curl(1), ssh(1) and gpg(1),
// and openssl-env(7).
func reservedEnv(name string) bool {
	if !reach.IsEnvName(name) {
		return true
	}
	name = strings.ToUpper(name)
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
	"PYTHON", "NODE_", "NPM_", "PERL5", "PERLIO", "RUBY", "GEM_", "BUNDLE_", "JAVA_", "_JAVA_", "JDK_", "LUA_", "DOTNET_",
	"CORECLR_", "COMPLUS_", "COR_", "JULIA_", "ERL_", "GUILE_", "PIP_", "DENO_", "BUN_",
	// Tools that take commands or configuration from their environment.
	"GIT_", "SSH_", "GPG_", "CARGO_", "RUSTC_", "RUSTUP_", "SUDO_", "SYSTEMD_", "DBUS_",
	// Trust stores, credentials of other systems, the runtime's own.
	"SSL_", "OPENSSL_", "CURL_", "DOCKER_", "KUBE_", "XDG_", "SALLYPORT_",
}

var reservedSuffixes = [...]string{
	"_PROXY", "_OPTIONS", "_OPTS", "_ASKPASS", "_PAGER", "_EDITOR", "_CA_BUNDLE", "_CONFIG_PATH", "_CONFIG_FILE",
}

// reservedNames is sorted.
var reservedNames = [...]string{
	"AWS_SHARED_CREDENTIALS_FILE", "BASHOPTS", "BROWSER", "CDPATH", "CLASSPATH", "COMPILER_PATH", "COMSPEC", "EDITOR",
	"ENV", "FPATH", "GCC_EXEC_PREFIX", "GNUMAKEFLAGS", "GNUPGHOME", "GOENV", "GOFLAGS", "GOINSECURE", "GOPRIVATE",
	"GOPROXY", "GOSUMDB", "GOTOOLCHAIN", "HOME", "HOSTALIASES", "IFS", "INPUTRC", "KUBECONFIG", "LESS", "LESSCLOSE",
	"LESSKEY", "LESSOPEN", "LOCALDOMAIN", "LOCPATH", "MAKEFILES", "MAKEFLAGS", "MANPAGER", "MFLAGS", "NIS_PATH",
	"NLSPATH", "PAGER", "PATH", "PATHEXT", "PATH_LOCALE", "PERLLIB", "PHPRC", "PHP_INI_SCAN_DIR", "PROMPT_COMMAND",
	"PS1", "PS4", "PSMODULEPATH", "RUSTFLAGS", "R_ENVIRON", "R_ENVIRON_USER", "R_HOME", "R_LIBS", "R_LIBS_USER",
	"R_PROFILE", "R_PROFILE_USER", "SHELL", "SHELLOPTS", "SYSTEMROOT", "TCLLIBPATH", "TEMP", "TERMCAP", "TERMINFO",
	"TERMINFO_DIRS", "TERMPATH", "TMP", "TMPDIR", "TZDIR", "VISUAL", "WGETRC", "XAUTHORITY", "ZDOTDIR",
}
