# Becomes a program of the archive in $home; sourced by bin/.

. "$home/lib/options.sh"

# The class path's jars, in an order that no language changes: the archives of classes are for that one alone.
jars() {
  (
    LC_ALL=C
    set -- "$home"/lib/*.jar
    printf '%s' "$1"
    shift
    printf ':%s' "$@"
  )
}

# The program with main class $1 and the arguments that follow. Java says nothing where it cannot use the archives of
# classes, and loads what it needs from the jars.
start() {
  main=$1
  shift
  require_no_colon "$home"
  require_open_files
  archive=$home/lib/server.jsa
  [ -f "$archive" ] || archive= # Java would leave its own archive aside as well.
  add_options_for "$@"
  # shellcheck disable=SC2086 # options are lists of words
  exec "$home/runtime/bin/java" $java_options \
    ${archive:+"-XX:SharedArchiveFile=$archive"} '-Xlog:cds*=off' '-Xlog:aot*=off' \
    "-Dpipelane.child-archive=$home/lib/children.jsa" ${JAVA_OPTS:-} \
    -cp "$(jars):$home/lib/native" "$main" "$@"
}
