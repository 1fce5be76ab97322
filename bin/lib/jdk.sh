# Finds a JDK new enough and Maven; sourced by the programs in bin/.

readonly required_java=25

# Prints the feature version of the JDK in folder $1, nothing when it is not a JDK.
jdk_version() {
  local version=""
  [[ -x "$1/bin/java" && -x "$1/bin/javac" ]] || return 0
  if [[ -r "$1/release" ]]; then
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")
  fi
  if [[ -z $version ]]; then
    version=$("$1/bin/java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
  fi
  printf '%s' "$version"
}

# Prints folders where a JDK may be, the preferred ones first.
jdk_candidates() {
  [[ -n ${JAVA_HOME:-} ]] && printf '%s\n' "$JAVA_HOME"
  local java
  java=$(command -v javac || command -v java) && java=$(readlink -f "$java" 2>/dev/null) \
    && printf '%s\n' "${java%/bin/*}"
  local folder
  for folder in /usr/lib/jvm/* "${HOME:-}"/.sdkman/candidates/java/* "${HOME:-}"/.jdks/* /opt/*; do
    [[ -d $folder ]] && printf '%s\n' "$folder"
  done
  return 0
}

# Sets and exports JAVA_HOME, or says how to get a JDK and ends the program.
require_jdk() {
  local folder version seen=""
  while IFS= read -r folder; do
    version=$(jdk_version "$folder")
    [[ -n $version ]] || continue
    if ((version >= required_java)); then
      export JAVA_HOME=$folder
      return
    fi
    [[ $seen == *"$folder"* ]] || seen+="  JDK $version in $folder"$'\n'
  done < <(jdk_candidates)
  {
    echo "Pipelane needs a JDK $required_java or newer, and found none."
    [[ -z $seen ]] || printf 'Too old:\n%s' "$seen"
    echo "Get one from https://adoptium.net (Debian and Ubuntu: apt install temurin-25-jdk with"
    echo "Adoptium's repository; SDKMAN: sdk install java 25-tem), or point JAVA_HOME at"
    echo "the one you have."
  } >&2
  exit 1
}

require_maven() {
  command -v mvn >/dev/null && return
  echo "Pipelane is built by Maven 3.8 or newer, and mvn is not on the PATH." >&2
  echo "Get it from https://maven.apache.org/download.cgi (Debian and Ubuntu: apt install maven;" >&2
  echo "SDKMAN: sdk install maven)." >&2
  exit 1
}
