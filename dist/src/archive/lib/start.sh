# Becomes a program of the archive in $home; sourced by bin/.

. "$home/lib/options.sh"

# The program with main class $1 and the arguments that follow.
start() {
  main=$1
  shift
  require_no_colon "$home"
  # shellcheck disable=SC2086 # options are lists of words
  exec "$home/runtime/bin/java" $java_options ${JAVA_OPTS:-} \
    -cp "$(printf '%s:' "$home"/lib/*.jar)$home/lib/native" "$main" "$@"
}
