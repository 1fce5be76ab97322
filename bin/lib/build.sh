# Builds a module when it is missing or out of date and starts programs from it; sourced by bin/.
#
# Everything lies under target/bin: the class path per module, the log of the last build, and for
# each build a folder with copies of our jars, so that a build never changes what a running program
# is executed from. A class path file is written last and by renaming: where it exists it is whole.

readonly root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly state=$root/target/bin

# shellcheck source=bin/lib/options.sh
source "$root/bin/lib/options.sh"

# Whether module $1 must be built: no class path, a source newer than it, or a jar gone.
out_of_date() {
  local class_path=$state/$1.classpath
  [[ -s $class_path ]] || return 0
  [[ -n $(find "$root" -path '*/target' -prune -o -path '*/.git' -prune -o \
    \( -name pom.xml -o -path '*/src/main' -o -path '*/src/main/*' \) \
    -newer "$class_path" -print -quit) ]] && return 0
  local jars jar
  IFS=: read -ra jars <"$class_path"
  for jar in "${jars[@]}"; do
    [[ -e $jar ]] || return 0
  done
  return 1
}

# Runs a command while no other build of this checkout runs.
with_build_lock() {
  mkdir -p "$state"
  if command -v flock >/dev/null; then
    (
      if ! flock -n 9; then
        echo "Waiting for another build of Pipelane to finish" >&2
        flock 9
      fi
      "$@"
    ) 9>"$state/lock"
  else
    local said=""
    until mkdir "$state/lock.d" 2>/dev/null; do
      if ! kill -0 "$(cat "$state/lock.d/pid" 2>/dev/null)" 2>/dev/null && [[ -n $said ]]; then
        rm -rf "$state/lock.d"
        continue
      fi
      [[ -n $said ]] || echo "Waiting for another build of Pipelane to finish" >&2
      said=yes
      sleep 1
    done
    (
      trap 'rm -rf "$state/lock.d"' EXIT
      echo "$BASHPID" >"$state/lock.d/pid"
      "$@"
    )
  fi
}

# Waits for process $1 and shows meanwhile, on a terminal, how long it has been running.
wait_with_progress() {
  local pid=$1 message=$2
  trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
  SECONDS=0
  if [[ -t 2 ]]; then
    while kill -0 "$pid" 2>/dev/null; do
      printf '\r%s ... %d s ' "$message" "$SECONDS" >&2
      sleep 1
    done
  else
    printf '%s ...' "$message" >&2
  fi
  local outcome=0
  wait "$pid" || outcome=$?
  if [[ -t 2 ]]; then
    printf '\r%s ... %d s\n' "$message" "$SECONDS" >&2
  else
    printf ' %d s\n' "$SECONDS" >&2
  fi
  trap - INT TERM
  return "$outcome"
}

build_module() {
  local module=$1
  out_of_date "$module" || return 0
  require_maven
  local message="Building Pipelane" log=$state/build.log started=$state/started
  compgen -G "$state/*.classpath" >/dev/null || message+=" (first run downloads about 300 MB)"
  touch "$started"
  (cd "$root" && exec mvn -q -B -DskipTests -Dspotless.check.skip=true -pl "$module" -am package \
    org.apache.maven.plugins:maven-dependency-plugin:build-classpath \
    -Dmdep.outputFile=target/classpath.txt -Dmdep.includeScope=runtime) \
    >"$log" 2>&1 </dev/null 9>&- &
  if ! wait_with_progress $! "$message"; then
    echo "The build has failed; the end of $log:" >&2
    tail -n 30 "$log" >&2
    return 1
  fi
  publish "$module" "$started"
}

# Copies our jars aside and writes the class path; its time is when the build began, so that what
# was edited during the build is built next time.
publish() {
  local module=$1 started=$2 jars jar folder copies=() class_path=""
  folder=$state/jars-$(date +%Y%m%d-%H%M%S)-$$
  mkdir -p "$folder"
  IFS=: read -ra jars <"$root/$module/target/classpath.txt"
  jars=("$(own_jar "$module")" "${jars[@]}")
  for jar in "${jars[@]}"; do
    if [[ $jar == "$root"/* ]]; then
      cp "$jar" "$folder/" || return 1
      jar=$folder/${jar##*/}
    fi
    class_path+=${class_path:+:}$jar
  done
  printf '%s\n' "$class_path" >"$folder/classpath" || return 1
  touch -r "$started" "$folder/classpath"
  mv "$folder/classpath" "$state/$module.classpath" || return 1
  remove_unused_copies
}

own_jar() {
  local jar
  for jar in "$root/$1/target/pipelane-$1"-*.jar; do
    [[ $jar == *-tests.jar || $jar == *-sources.jar ]] || printf '%s' "$jar"
  done
}

# Keeps the copies that a class path names, and any younger than a week: a program may run on them.
remove_unused_copies() {
  local folder
  while IFS= read -r folder; do
    grep -qsF "$folder/" "$state"/*.classpath || rm -rf "$folder"
  done < <(find "$state" -maxdepth 1 -name 'jars-*' -type d -mtime +7)
}

# Builds module $1 if need be and becomes the Java program with main class $2 and the arguments.
start() {
  local module=$1 main=$2
  shift 2
  require_no_colon "$root"
  require_open_files
  require_jdk
  if out_of_date "$module"; then
    with_build_lock build_module "$module" || exit 1
  fi
  local class_path
  class_path=$(<"$state/$module.classpath")
  add_options_for "$@"
  # shellcheck disable=SC2086 # options are lists of words
  exec "$JAVA_HOME/bin/java" $java_options ${JAVA_OPTS:-} -cp "$class_path" "$main" "$@"
}
