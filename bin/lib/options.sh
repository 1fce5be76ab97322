# What the Java virtual machine is told by every program, and what one cannot run without; sourced by POSIX shells and by
# bash.
#
# Tensors and weights live outside the Java heap, which stays small: the collector that the JVM
# picks for the machine (G1, or Serial on one core) pauses for a few milliseconds at most, and a
# concurrent one would take processor time from inference. JAVA_OPTS can say otherwise.
#
# Room for classes is there from the start: a collection for want of it would come early and shrink
# the heap to some tens of megabytes, and then there is a pause every few seconds instead of every
# half a minute.
#
# Netty is let into java.nio so that its buffers' memory is not filled with zeros first, which takes
# longer than filling it with a large answer. Its search for leaks is left to the tests.

# shellcheck disable=SC2034 # for those that source this
java_options="--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
--add-opens=java.base/java.nio=ALL-UNNAMED -Dio.netty.tryReflectionSetAccessible=true \
-Dio.netty.leakDetection.level=disabled -XX:MetaspaceSize=128m"

# A server's code is compiled after a quarter of the calls that Java would wait for. With some hundred requests a second
# it would wait for half a minute until theirs is compiled in full, and for minutes with what models need that come in
# now and then.
# $1: the program's command, if it has one.
add_options_for() {
  case ${1:-} in
    serve | demo | bench) java_options="$java_options -XX:CompileThresholdScaling=0.25" ;;
  esac
}

# Java reads the names of files in the locale's characters, of which there are but ASCII's where none is set, and writes
# numbers in its digits. LANGUAGE goes before LC_ALL in what the system says, which programs read.
export LC_ALL=C.UTF-8 LANGUAGE=C

# Jars that are read from stay open.
readonly least_open_files=256

# Ends a program that may not open the files that it starts with.
require_open_files() {
  open_files=$(ulimit -Hn)
  if [ "$open_files" != unlimited ] && [ "$open_files" -lt $least_open_files ]; then
    echo "Pipelane may open $open_files files at a time and needs at least $least_open_files; raise the hard limit (ulimit -Hn)." >&2
    exit 1
  fi
}

# Ends a program that lies in folder $1 if a class path cannot name that.
require_no_colon() {
  case $1 in
    *:*)
      echo "Pipelane cannot run from $1: Java parts its class path at colons. Move it to a folder without one." >&2
      exit 1
      ;;
  esac
}
