package reach

// JavaConfig is where Debian puts the configuration of Java, without which it does not
// start. Every child sees the folders of this pattern, except what is for remote management.
const JavaConfig = "/etc/java-*-openjdk"

// SystemDirs returns what every child sees of the system, read-only: the
// directories of programs and libraries of the Filesystem Hierarchy Standard.
func SystemDirs() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
	}
}

// SystemFiles returns what every child sees of the configuration: what the loader,
// the C library, TLS, time zones and the alternatives of distributions need,
// and nothing that names users, hosts or keys.
func SystemFiles() []string {
	return []string{
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl/certs",
		"/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates",
		"/etc/localtime", "/etc/mime.types", "/etc/magic", "/etc/services", "/etc/protocols", "/etc/os-release",
		"/etc/debian_version", "/etc/terminfo", "/etc/fonts", "/etc/crypto-policies",
	}
}
