package denyfloor

// projectRow is a file or folder of a project that makes a program run
// commands.
type projectRow struct{ path, source string }

// projectGroup are rows with one reason.
type projectGroup struct {
	reason string
	rows   []projectRow
}

// projectTable is the configuration of agents, editors, package managers and
// build tools that runs commands where a person opens, enters, installs or
// builds a project. Tools and children do not write it; what a child writes to
// it in an overlay waits for a person.
//
// No rows are the files that people and agents edit and that installs and
// builds write all day: package.json, go.mod, Cargo.toml, pyproject.toml,
// Makefile, lock files, .pnp.cjs, .bundle/config. Nor are those of services
// that run elsewhere after a push. Below node_modules, which installs write as
// a whole and people do not open as a project, no row of this table counts.
var projectTable = [...]projectGroup{
	{"an editor's configuration runs commands", []projectRow{
		{"**/.vscode", "https://code.visualstudio.com/docs/editing/workspaces/workspace-trust; CVE-2025-53773"},
		{"**/*.code-workspace", "https://code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces"},
		{"**/.idea", "https://www.jetbrains.com/help/idea/project-security.html"},
		{"**/.run", "https://www.jetbrains.com/help/idea/run-debug-configuration.html"},
		{"**/.fleet", "https://www.jetbrains.com/help/fleet/run-configurations.html"},
		{"**/.zed", "https://zed.dev/docs/tasks"},
		{"**/.theia", "https://theia-ide.org/docs/tasks"},
		{"**/.vs", "https://learn.microsoft.com/visualstudio/ide/customize-build-and-debug-tasks-in-visual-studio"},
		{"**/.nova", "https://docs.nova.app/extensions/run-configurations"},
		{"**/*.sublime-project", "https://www.sublimetext.com/docs/build_systems.html"},
		{"**/.helix", "https://docs.helix-editor.com/languages.html"},
		{"**/.exrc", "vim(1), 'exrc'"},
		{"**/.vimrc", "vim(1), 'exrc'"},
		{"**/_vimrc", "vim(1), 'exrc'"},
		{"**/.gvimrc", "vim(1), 'exrc'"},
		{"**/.nvimrc", "nvim(1), 'exrc'"},
		{"**/.nvim.lua", "nvim(1), 'exrc'"},
		{"**/.lvimrc", "https://github.com/embear/vim-localvimrc"},
		{"**/.vim", "https://github.com/neoclide/coc.nvim: .vim/coc-settings.json"},
		{"**/.dir-locals.el", "GNU Emacs manual, Directory Variables; CVE-2012-3479"},
		{"**/.dir-locals-2.el", "GNU Emacs manual, Directory Variables"},
		{"**/.devcontainer", "https://containers.dev/implementors/json_reference: initializeCommand"},
		{"**/.devcontainer.json", "https://containers.dev/implementors/spec"},
	}},
	{"an agent's configuration runs commands", []projectRow{
		{"**/.mcp.json", "https://code.claude.com/docs/en/mcp; CVE-2025-59536"},
		{"**/.cursor", "https://docs.cursor.com/context/model-context-protocol; CVE-2025-54135, CVE-2025-54136"},
		{"**/.claude/settings.json", "https://code.claude.com/docs/en/hooks; CVE-2025-59536"},
		{"**/.claude/settings.local.json", "https://code.claude.com/docs/en/settings"},
		{"**/.claude/commands", "https://code.claude.com/docs/en/slash-commands"},
		{"**/.claude/agents", "https://code.claude.com/docs/en/sub-agents"},
		{"**/.claude/hooks", "https://code.claude.com/docs/en/hooks"},
		{"**/.claude/skills", "https://code.claude.com/docs/en/skills"},
		{"**/.claude/plugins", "https://code.claude.com/docs/en/plugins"},
		{"**/.claude-plugin", "https://code.claude.com/docs/en/plugins"},
		{"**/.gemini/settings.json", "https://google-gemini.github.io/gemini-cli/docs/get-started/configuration.html"},
		{"**/.gemini/commands", "https://google-gemini.github.io/gemini-cli/docs/cli/custom-commands.html"},
		{"**/.gemini/extensions", "https://google-gemini.github.io/gemini-cli/docs/extensions"},
		{"**/.gemini/hooks", "https://google-gemini.github.io/gemini-cli/docs/hooks"},
		{"**/.qwen/settings.json", "https://qwenlm.github.io/qwen-code-docs"},
		{"**/.codex/config.toml", "https://developers.openai.com/codex/config-reference; CVE-2025-61260"},
		{"**/.codex/hooks.json", "https://developers.openai.com/codex/hooks"},
		{"**/.codex/rules", "https://developers.openai.com/codex/rules"},
		{"**/.codex/skills", "https://developers.openai.com/codex/skills"},
		{"**/.agents/skills", "https://agentskills.io"},
		{"**/.windsurf", "https://docs.windsurf.com/windsurf/cascade/hooks"},
		{"**/.roo", "https://docs.roocode.com/features/mcp/using-mcp-in-roo"},
		{"**/.kilocode/mcp.json", "https://kilocode.ai/docs/features/mcp/using-mcp-in-kilo-code"},
		{"**/.clinerules/hooks", "https://docs.cline.bot/features/hooks"},
		{"**/.kiro/settings", "https://kiro.dev/docs/mcp/configuration"},
		{"**/.kiro/hooks", "https://kiro.dev/docs/hooks"},
		{"**/.kiro/agents", "https://kiro.dev/docs/cli/custom-agents"},
		{"**/.amazonq", "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line-mcp.html"},
		{"**/.continue", "https://docs.continue.dev/reference"},
		{"**/.junie/mcp", "https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html"},
		{"**/.trae/mcp.json", "https://docs.trae.ai/ide/model-context-protocol"},
		{"**/.factory", "https://docs.factory.ai/cli/configuration/mcp"},
		{"**/.amp/settings.json", "https://ampcode.com/manual"},
		{"**/.opencode", "https://opencode.ai/docs/config"},
		{"**/opencode.json", "https://opencode.ai/docs/mcp-servers"},
		{"**/opencode.jsonc", "https://opencode.ai/docs/mcp-servers"},
		{"**/crush.json", "https://github.com/charmbracelet/crush"},
		{"**/.crush.json", "https://github.com/charmbracelet/crush"},
		{"**/.aider.conf.yml", "https://aider.chat/docs/config/aider_conf.html: lint-cmd, test-cmd"},
		{"**/.github/hooks", "https://docs.github.com/copilot/concepts/agents/coding-agent/about-hooks"},
	}},
	{"a package manager's configuration runs commands", []projectRow{
		{"**/.npmrc", "npmrc(5): script-shell, node-options, registry"},
		{"**/.yarnrc", "https://classic.yarnpkg.com/en/docs/yarnrc: yarn-path"},
		{"**/.yarnrc.yml", "https://yarnpkg.com/configuration/yarnrc: yarnPath, plugins"},
		{"**/.yarn/releases", "https://yarnpkg.com/configuration/yarnrc: yarnPath"},
		{"**/.yarn/plugins", "https://yarnpkg.com/advanced/plugin-tutorial"},
		{"**/.pnpmfile.cjs", "https://pnpm.io/pnpmfile"},
		{"**/.pnpmfile.mjs", "https://pnpm.io/pnpmfile"},
		{"**/pnpmfile.js", "https://pnpm.io/pnpmfile"},
		{"**/bunfig.toml", "https://bun.com/docs/runtime/bunfig: preload"},
		{"**/pip.conf", "https://pip.pypa.io/en/stable/topics/configuration: index-url"},
		{"**/pip.ini", "https://pip.pypa.io/en/stable/topics/configuration"},
		{"**/nuget.config", "https://learn.microsoft.com/nuget/reference/nuget-config-file"},
	}},
	{"a build tool's configuration runs commands", []projectRow{
		{"**/.cargo/config", "https://doc.rust-lang.org/cargo/reference/config.html: runner, rustc-wrapper"},
		{"**/.cargo/config.toml", "https://doc.rust-lang.org/cargo/reference/config.html"},
		{"**/.bazelrc", "https://bazel.build/run/bazelrc: --run_under, --workspace_status_command"},
		{"**/.bazeliskrc", "https://github.com/bazelbuild/bazelisk: BAZELISK_BASE_URL, USE_BAZEL_VERSION"},
		{"**/tools/bazel", "https://bazel.build/install/bazelisk: the launcher runs it in its own place"},
		{"**/.buckconfig", "https://buck2.build/docs/concepts/buckconfig"},
		{"**/.buckconfig.local", "https://buck2.build/docs/concepts/buckconfig"},
		{"**/.mvn", "https://maven.apache.org/configure.html: extensions.xml, jvm.config"},
		{"**/.sbtopts", "https://www.scala-sbt.org/1.x/docs/Command-Line-Reference.html"},
		{"**/.jvmopts", "https://www.scala-sbt.org/1.x/docs/Command-Line-Reference.html"},
	}},
	{"a shell's or tool's configuration runs commands on the way into a folder", []projectRow{
		{"**/.envrc", "direnv(1)"},
		{"**/mise.toml", "https://mise.jdx.dev/configuration.html: hooks, env._.source"},
		{"**/mise.*.toml", "https://mise.jdx.dev/configuration.html: mise.local.toml, one for each environment"},
		{"**/.mise.toml", "https://mise.jdx.dev/configuration.html"},
		{"**/.mise.*.toml", "https://mise.jdx.dev/configuration.html"},
		{"**/.mise", "https://mise.jdx.dev/configuration.html"},
		{"**/mise/config*.toml", "https://mise.jdx.dev/configuration.html"},
		{"**/.config/mise*", "https://mise.jdx.dev/configuration.html"},
		{"**/devbox.json", "https://www.jetify.com/docs/devbox/configuration: init_hook"},
		{"**/.pdbrc", "https://docs.python.org/3/library/pdb.html"},
		{"**/.gdbinit", "gdb(1), auto-load local-gdbinit"},
		{"**/.lldbinit", "lldb(1), target.load-cwd-lldbinit"},
		{"**/.rprofile", "R: help(Startup)"},
		{"**/.irbrc", "irb(1)"},
		{"**/.pryrc", "https://github.com/pry/pry/wiki/Pry-rc"},
		{"**/.ghci", "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html"},
		{"**/.octaverc", "GNU Octave manual, Startup Files"},
		{"**/.ocamlinit", "ocaml(1)"},
		{"**/.iex.exs", "https://hexdocs.pm/iex/IEx.html"},
		{"**/.ripgreprc", "rg(1), RIPGREP_CONFIG_PATH: --pre"},
	}},
	{"hooks of a repository that lie in the project run commands", []projectRow{
		{"**/.gitmodules", "gitmodules(5); CVE-2018-17456"},
		{"**/.husky", "https://typicode.github.io/husky"},
		{"**/.githooks", "githooks(5), core.hooksPath as it is commonly set"},
		{"**/.pre-commit-config.yaml", "https://pre-commit.com: local hooks"},
		{"**/lefthook.yml", "https://lefthook.dev/configuration"},
		{"**/lefthook.yaml", "https://lefthook.dev/configuration"},
		{"**/lefthook.json", "https://lefthook.dev/configuration"},
		{"**/lefthook.jsonc", "https://lefthook.dev/configuration"},
		{"**/lefthook.toml", "https://lefthook.dev/configuration"},
		{"**/lefthook-local.*", "https://lefthook.dev/configuration: overrides lefthook.yml"},
		{"**/.lefthook.*", "https://lefthook.dev/configuration"},
		{"**/.lefthook-local.*", "https://lefthook.dev/configuration"},
		{"**/.config/lefthook*", "https://lefthook.dev/configuration"},
		{"**/.lefthook", "https://lefthook.dev/configuration"},
		{"**/.overcommit.yml", "https://github.com/sds/overcommit"},
		{"**/.huskyrc*", "https://typicode.github.io/husky: version 4"},
		{"**/.git-hooks", "https://github.com/sds/overcommit: plugin_directory"},
	}},
}

// installed is the folder below which no row of the table counts.
const installed = "/node_modules/"
