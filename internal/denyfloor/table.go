package denyfloor

// floorGroup is a part of the always-deny floor with one reason and one source.
type floorGroup struct {
	writeOnly bool
	reason    string
	source    string
	paths     []string
}

// floorTable is the always-deny floor: what no grant reaches, with the reason.
// The notation is that of [Rule.Path]; elements are in lower case, the
// form in which paths are compared. What steers a repository is in
// repository.go, what agents, editors, package managers and build tools
// obey in a project is in project.go.
//
// A name that is harmless in a project (.aws, .npmrc, .profile) is denied in
// home directories only; one that is a credential wherever it lies (.ssh,
// .netrc) is denied everywhere. Project files such as .env are not on the
// floor: whether a tool may read them is what a grant says.
var floorTable = [...]floorGroup{
	{false, "keys and agents of secure shell", "ssh(1), sshd(8)", []string{
		"**/.ssh", "~/.config/ssh", "~/.putty", "/etc/ssh/ssh_host_*_key",
	}},
	{false, "a private key of secure shell", "ssh-keygen(1)", []string{
		"**/id_rsa", "**/id_dsa", "**/id_ecdsa", "**/id_ed25519", "**/id_ecdsa_sk", "**/id_ed25519_sk",
	}},
	{false, "private keys", "gpg(1), age(1), openssl(1ssl), wg(8), krb5.conf(5)", []string{
		"**/.gnupg", "~/.pki", "~/.age", "~/.config/age", "~/.config/sallyport", "~/.config/sops", "~/.minisign", "~/.local/share/gnupg",
		"/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/wireguard", "/etc/krb5.keytab",
	}},
	{false, "cloud credentials", "the configuration reference of each provider's command line", []string{
		"~/.aws", "**/.aws/credentials", "**/.aws/sso", "**/.aws/cli", "~/.azure", "**/.azure/accesstokens.json",
		"**/.azure/msal_token_cache*", "**/.azure/service_principal_entries*", "**/.config/gcloud", "~/.boto",
		"~/.s3cfg", "~/.oci", "~/.aliyun", "~/.config/doctl", "~/.config/hcloud", "~/.config/scw",
		"~/.config/linode-cli", "~/.config/rclone", "~/.rclone.conf", "~/.fly", "~/.config/netlify",
		"~/.config/configstore", "~/.databrickscfg", "~/.config/heroku", "~/.config/stripe", "~/.config/.wrangler",
		"~/.wrangler", "~/appdata/roaming/gcloud",
	}},
	{false, "credentials of code hosts", "git-credential-store(1), gh(1), glab(1)", []string{
		"**/.git-credentials", "**/.config/gh", "~/.config/hub", "~/.config/glab-cli", "~/.config/git/credentials",
		"~/.config/tea", "~/.config/github-copilot", "~/appdata/roaming/github cli",
	}},
	{false, "credentials of containers and clusters", "docker-login(1), containers-auth.json(5), kubectl(1)", []string{
		"**/.docker/config.json", "~/.docker/contexts", "~/.config/containers/auth.json", "~/.dockercfg", "~/.kube",
		"**/.kube/config", "**/.kube/cache", "~/.minikube", "/etc/kubernetes", "/etc/rancher", "/var/lib/kubelet",
		"/var/lib/rancher", "/etc/docker/key.json", "/run/secrets", "/var/run/secrets",
	}},
	{false, "logins for programs", "netrc(5), libpq-pgpass, msmtp(1), fetchmail(1)", []string{
		"**/.netrc", "**/_netrc", "**/.pgpass", "~/.pg_service.conf", "~/.my.cnf", "~/.mylogin.cnf", "~/.msmtprc",
		"~/.mbsyncrc", "~/.offlineimaprc", "~/.fetchmailrc", "~/.smbcredentials", "~/.authinfo", "~/.authinfo.gpg",
		"~/.config/msmtp", "~/.subversion/auth", "~/.cvspass", "~/.ldaprc",
		"~/appdata/roaming/postgresql/pgpass.conf",
	}},
	{false, "tokens of package registries", "npmrc(5), the Cargo book, the Maven and Gradle references", []string{
		"~/.npmrc", "~/.yarnrc", "~/.yarnrc.yml", "**/.pypirc", "**/.cargo/credentials", "**/.cargo/credentials.toml",
		"~/.gem/credentials", "~/.local/share/gem/credentials", "~/.bundle/config", "~/.m2/settings.xml",
		"~/.m2/settings-security.xml", "~/.gradle/gradle.properties", "~/.nuget/nuget", "~/.config/nuget",
		"~/.composer/auth.json", "~/.config/composer/auth.json", "~/.config/pypoetry/auth.toml",
		"~/.pub-cache/credentials.json", "~/.cache/huggingface/token", "~/.kaggle",
	}},
	{false, "credentials of infrastructure tools", "the reference of each tool", []string{
		"~/.terraform.d", "~/.terraformrc", "~/.vault-token", "~/.pulumi/credentials.json", "~/.chef", "~/.config/op",
		"~/.op", "~/.snowsql", "~/.config/sentry", "~/.sentryclirc", "~/.config/ngrok", "~/.ngrok2", "~/.cloudflared",
	}},
	{false, "credentials that a program keeps in its own folder", "XDG Base Directory Specification", []string{
		"~/.*/keys.json", "~/.*/secrets", "~/.*/credentials", "~/.*/credentials.json", "~/.*/.credentials.json",
		"~/.*/auth.json", "~/.*/oauth_creds.json", "~/.config/*/auth.json", "~/.config/*/credentials.json",
		"~/.config/*/credentials",
	}},
	{false, "a password store or keyring", "pass(1), secret-tool(1), the reference of each store", []string{
		"~/.password-store", "~/.local/share/keyrings", "~/.local/share/kwalletd", "~/.gnome2/keyrings",
		"~/.kde/share/apps/kwallet", "~/.kde4/share/apps/kwallet", "~/.config/keepassxc",
		"~/.local/share/password-store", "~/.config/1password", "~/.1password", "~/.config/bitwarden",
		"~/.config/bitwarden cli", "~/.lastpass", "~/.config/lastpass", "~/.local/share/lpass", "~/.lpass",
		"~/library/keychains", "/library/keychains", "~/library/application support/1password",
		"~/library/application support/bitwarden", "~/appdata/roaming/microsoft/credentials",
		"~/appdata/roaming/microsoft/protect", "~/appdata/roaming/microsoft/crypto",
		"~/appdata/local/microsoft/credentials", "~/appdata/local/microsoft/vault",
	}},
	{false, "a browser's or mailer's profile", "the profile folders of each program", []string{
		"~/.mozilla", "~/.config/mozilla", "~/.librewolf", "~/.waterfox", "~/.thunderbird",
		"~/.config/google-chrome*", "~/.config/chromium*", "~/.config/bravesoftware", "~/.config/microsoft-edge*",
		"~/.config/vivaldi*", "~/.config/opera*", "~/.config/yandex-browser*", "~/.config/arc", "~/.config/evolution",
		"~/.local/share/evolution", "~/.config/signal", "~/.config/slack", "~/.config/discord",
		"~/.local/share/telegramdesktop", "~/.tor-browser", "~/snap/firefox", "~/snap/chromium", "~/snap/thunderbird",
		"~/.var/app/org.mozilla.*", "~/.var/app/org.chromium.*", "~/.var/app/com.google.*", "~/.var/app/com.brave.*",
		"~/.var/app/com.microsoft.*", "~/.cache/mozilla", "~/.cache/google-chrome", "~/.cache/chromium",
		"~/library/cookies", "~/library/safari", "~/library/containers/com.apple.safari", "~/library/mail",
		"~/library/messages", "~/library/application support/google/chrome*",
		"~/library/application support/chromium", "~/library/application support/firefox",
		"~/library/application support/bravesoftware", "~/library/application support/microsoft edge*",
		"~/library/application support/arc", "~/library/application support/vivaldi",
		"~/library/application support/com.operasoftware.*", "~/appdata/local/google/chrome*",
		"~/appdata/local/chromium", "~/appdata/local/bravesoftware", "~/appdata/local/microsoft/edge*",
		"~/appdata/roaming/mozilla", "~/appdata/local/mozilla", "~/appdata/roaming/thunderbird",
		"~/appdata/roaming/opera software",
	}},
	{false, "the history of a shell or interpreter", "bash(1), zsh(1), fish(1), psql(1)", []string{
		"**/.*_history", "**/.histfile", "**/.zhistory", "**/.lesshst", "**/.viminfo", "~/.history", "~/.dbshell",
		"~/.bash_sessions", "~/.zsh_sessions", "~/.zsh_history*", "~/.bash_history*", "~/.local/share/fish",
		"~/.config/fish/fish_history", "~/.local/share/powershell/psreadline", "~/.local/share/nushell",
		"~/.config/nushell/history*", "~/.local/share/atuin", "~/.local/share/mc/history", "~/.local/state/*/history",
		"~/.config/mycli", "~/.config/pgcli/history", "~/.config/litecli",
		"~/appdata/roaming/microsoft/windows/powershell/psreadline",
	}},
	{false, "copies that the gate keeps of what it changed", "sallyport import", []string{
		"~/.local/state/sallyport", "**/.mcp.json.*z.bak", "**/.claude.json.*z.bak", "**/mcp.json.*z.bak",
		"**/settings.json.*z.bak", "**/mcp_config.json.*z.bak", "**/claude_desktop_config.json.*z.bak",
	}},
	{false, "accounts and passwords of the system", "passwd(5), shadow(5), sudoers(5)", []string{
		"/etc/passwd", "/etc/passwd-", "/etc/shadow*", "/etc/gshadow*", "/etc/master.passwd", "/etc/spwd.db",
		"/etc/pwd.db", "/etc/sudoers", "/etc/sudoers.d", "/etc/security/opasswd", "/etc/doas.conf", "/etc/crypttab",
		"/etc/ppp/chap-secrets", "/etc/ppp/pap-secrets", "/etc/networkmanager/system-connections",
		"/etc/wpa_supplicant", "/etc/openvpn", "/etc/ipsec.secrets", "/var/lib/sss", "/var/db/dslocal",
		"/windows/system32/config",
	}},
	{false, "the administrator's home directory", "hier(7)", []string{
		"/root", "/var/root",
	}},
	{false, "boot files", "hier(7)", []string{
		"/boot", "/efi",
	}},
	{false, "kernel objects and devices", "hier(7)", []string{
		"/sys", "/dev", "/selinux",
	}},
	{false, "processes and the kernel's state", "proc(5)", []string{
		"/proc/self", "/proc/thread-self", "/proc/sys", "/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys",
		"/proc/key-users", "/proc/kpage*", "/proc/sysrq-trigger", "/proc/sched_debug", "/proc/timer_list",
		"/proc/bus", "/proc/fs", "/proc/irq", "/proc/acpi", "/proc/scsi", "/proc/0*", "/proc/1*", "/proc/2*",
		"/proc/3*", "/proc/4*", "/proc/5*", "/proc/6*", "/proc/7*", "/proc/8*", "/proc/9*",
	}},
	{false, "a control socket", "hier(7), dockerd(8)", []string{
		"/run/docker.sock", "/run/docker", "/run/containerd", "/run/crio", "/run/podman", "/run/libpod", "/run/user",
		"/run/dbus", "/run/systemd/private", "/run/systemd/notify", "/run/snapd.socket", "/run/libvirt",
		"/run/udev/control", "/run/sudo", "/var/run/docker.sock", "/var/run/docker", "/var/run/containerd",
		"/var/run/crio", "/var/run/podman", "/var/run/user", "/var/run/dbus", "/var/run/snapd.socket",
		"/var/run/libvirt", "/var/run/sudo", "/tmp/.x11-unix", "/var/lib/docker", "/var/lib/containerd",
		"/tmp/ssh-*/agent.*",
	}},
	{true, "git's configuration runs commands", "git-config(1), hgrc(5)", []string{
		"~/.gitconfig", "~/.config/git", "~/.gitattributes", "~/.hgrc", "~/.config/hg", "~/.config/jj",
		"~/.jjconfig.toml", "/etc/gitconfig",
	}},
	{true, "a shell's start file", "bash(1), zsh(1), fish(1)", []string{
		"~/.bashrc", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.bash_aliases", "~/.profile",
		"~/.zshrc", "~/.zshenv", "~/.zprofile", "~/.zlogin", "~/.zlogout", "~/.kshrc", "~/.mkshrc", "~/.cshrc",
		"~/.tcshrc", "~/.login", "~/.logout", "~/.oh-my-zsh", "~/.zsh", "~/.zsh.d", "~/.bashrc.d", "~/.config/bash",
		"~/.config/zsh", "~/.config/fish", "~/.config/nushell", "~/.config/powershell", "~/.config/elvish",
		"~/.inputrc", "~/documents/powershell", "~/documents/windowspowershell", "/etc/profile", "/etc/profile.d",
		"/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/zshrc", "/etc/zshenv", "/etc/zprofile", "/etc/fish",
		"/etc/environment", "/etc/csh.*",
	}},
	{true, "a session's start file", "XDG Desktop Application Autostart Specification", []string{
		"~/.xprofile", "~/.xinitrc", "~/.xsession", "~/.xsessionrc", "~/.xserverrc", "~/.pam_environment",
		"~/.environment", "~/.config/environment.d", "~/.config/autostart", "~/.config/autostart-scripts",
		"~/.config/plasma-workspace", "~/.config/i3", "~/.config/sway", "~/.config/hypr", "~/.config/openbox",
		"~/.local/share/applications", "~/.local/share/dbus-1", "/etc/xdg/autostart",
		"~/appdata/roaming/microsoft/windows/start menu/programs/startup",
		"/programdata/microsoft/windows/start menu/programs/startup",
	}},
	{true, "a service or scheduled job", "systemd.unit(5), crontab(5), launchd.plist(5)", []string{
		"~/.config/systemd", "~/.local/share/systemd", "~/library/launchagents", "~/library/launchdaemons",
		"/library/launchagents", "/library/launchdaemons", "/library/startupitems", "~/.crontab", "~/.config/cron",
		"/etc/crontab", "/etc/cron*", "/etc/anacrontab", "/var/spool/cron", "/var/spool/at", "/var/spool/anacron",
		"/var/at", "/etc/systemd", "/lib/systemd", "/usr/lib/systemd", "/run/systemd", "/etc/init.d", "/etc/inittab",
		"/etc/udev", "/windows/system32/tasks", "/windows/tasks", "/etc/rc.local", "/etc/rc.d",
	}},
	{true, "decides who may log in or what every program loads", "pam.d(5), ld.so(8), nsswitch.conf(5)", []string{
		"/etc/pam.d", "/etc/security", "/etc/ssh", "/etc/ld.so.*", "/etc/nsswitch.conf", "/etc/polkit-1",
		"/etc/hosts.equiv", "~/.rhosts", "~/.shosts", "~/.k5login", "~/.forward", "~/.procmailrc",
	}},
	{true, "programs on the search path", "file-hierarchy(7)", []string{
		"~/.local/bin", "~/bin", "~/.bin", "~/.cargo/bin", "~/go/bin", "~/.npm-global", "~/.deno/bin", "~/.bun/bin",
	}},
	{true, "an editor's configuration runs commands", "the reference of each editor", []string{
		"~/.config/code", "~/.config/code - insiders", "~/.config/vscodium",
		"~/.config/cursor", "~/.config/zed", "~/.config/nvim", "~/.config/emacs", "~/.config/helix",
		"~/.config/sublime-text*", "~/.local/share/nvim", "~/.vimrc", "~/.vim", "~/.exrc", "~/.nvimrc", "~/.gvimrc",
		"~/.emacs", "~/.emacs.d", "~/.nanorc", "~/library/application support/code",
		"~/library/application support/cursor", "~/appdata/roaming/code",
	}},
	{true, "a gate that is started there uses this configuration", "docs/guides/configuration.md, docs/guides/lock.md", []string{
		"**/sallyport.yaml", "**/sallyport.lock", "**/.sallyport.lock.*", "**/.sallyport.yaml.*", "**/.sallyport",
	}},
	{true, "a tool client's configuration runs commands", "the reference of each client", []string{
		"~/.claude.json",
		"~/.codex/config.toml", "~/.gemini/settings.json", "~/.codeium/windsurf/mcp_config.json",
		"~/library/application support/claude", "~/appdata/roaming/claude", "~/.config/claude",
	}},
	{true, "a program's configuration runs commands", "the manual page of each program", []string{
		"~/.tmux.conf", "~/.config/tmux", "~/.screenrc", "~/.wgetrc", "~/.curlrc", "~/.lessfilter",
		"~/.lesskey", "~/.psqlrc", "~/.sqliterc", "~/.gdbinit", "~/.config/gdb", "~/.lldbinit", "~/.pythonrc",
		"~/.pystartup", "~/.pydistutils.cfg", "~/.pip", "~/.config/pip", "~/.condarc", "~/.irbrc", "~/.pryrc",
		"~/.gemrc", "~/.rprofile", "~/.perldb", "~/.ghci", "~/.cargo/config", "~/.cargo/config.toml",
		"~/.gradle/init.gradle", "~/.gradle/init.d", "~/.direnvrc", "~/.mailcap", "~/.config/containers",
		"~/.docker/cli-plugins", "~/.docker/daemon.json",
	}},
	{true, "the kernel's settings", "proc(5)", []string{
		"/proc",
	}},
}
