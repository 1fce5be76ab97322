package io.pipelane.modelstore;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The way to start programs of ours in processes of their own, with this process's classes. */
public final class ChildJvm {
  private static final Set<String> ENVIRONMENT =
      Set.of(
          "PATH",
          "HOME",
          "LD_LIBRARY_PATH",
          "LANG",
          "LC_ALL",
          "TMPDIR",
          "CUDA_VISIBLE_DEVICES",
          "CUDA_DEVICE_ORDER",
          "CUDA_CACHE_PATH",
          "CUDA_MPS_PIPE_DIRECTORY",
          "CUDA_MPS_LOG_DIRECTORY",
          "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
          "CUBLAS_WORKSPACE_CONFIG");

  /** Nobody reads the report of a crash, which may wait for a lock that the crashed thread has. */
  private static final int CRASH_REPORT_SECONDS = 1;

  /** Names the options that a virtual machine gives to all it starts, with blanks between them. */
  private static final String FOR_CHILDREN = "pipelane.child-options";

  /** Names an archive of the classes that children begin with, where the distribution has one. */
  private static final String ARCHIVE = "pipelane.child-archive";

  private static final String PARENT = "-Dpipelane.parent=";
  private static final Pattern PARENT_WORD = Pattern.compile(PARENT + "(\\d{1,18})");

  private ChildJvm() {}

  /**
   * A process to be started.
   *
   * @param shell prepares the process and then does {@code exec "$@"}; its own arguments come first
   * @param shellArguments what it has shifted away by then
   * @param options of the virtual machine, beside those that all our programs need
   */
  public static ProcessBuilder program(
      String shell,
      List<String> shellArguments,
      List<String> options,
      Class<?> main,
      List<String> arguments) {
    List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", shell, "sh"));
    command.addAll(shellArguments);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(optionsForChildren());
    command.addAll(archive());
    command.addAll(options);
    command.addAll(
        List.of(
            PARENT + ProcessHandle.current().pid(),
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:ErrorFile=/dev/null",
            "-XX:ErrorLogTimeout=" + CRASH_REPORT_SECONDS,
            "-XX:-DumpReplayDataOnError",
            "-Xshare:auto",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-cp",
            absoluteClassPath(),
            main.getName()));
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    keepKnown(builder.environment());
    return builder;
  }

  /**
   * The options that this process was told to give to those it starts, none but in tests: many of
   * them live for a second, in which a compiler that takes its time is most of what they cost.
   */
  public static List<String> optionsForChildren() {
    String options = System.getProperty(FOR_CHILDREN, "");
    if (options.isBlank()) {
      return List.of();
    }
    List<String> all = new ArrayList<>(List.of(options.split(" ")));
    all.add("-D%s=%s".formatted(FOR_CHILDREN, options));
    return all;
  }

  /**
   * Has a child take classes from the archive, if there is one. One that is not of these jars or of
   * this virtual machine is not used, and nothing is said of it.
   */
  private static List<String> archive() {
    String file = System.getProperty(ARCHIVE, "");
    return file.isBlank() || !Files.isRegularFile(Path.of(file))
        ? List.of()
        : List.of("-XX:SharedArchiveFile=" + file, "-Xlog:cds*=off", "-Xlog:aot*=off");
  }

  /**
   * Leaves a child what it finds its libraries, its devices and its caches by, and no secrets; has
   * the kernel's words be English there.
   */
  static void keepKnown(Map<String, String> environment) {
    environment.keySet().retainAll(ENVIRONMENT);
    environment.put("LANGUAGE", "C"); // What the kernel says is read by programs.
  }

  /**
   * Who has started a process of ours.
   *
   * @param words of any process's command line
   * @return the parent's id; empty when it is none of ours
   */
  static Optional<Long> parent(List<String> words) {
    if (!words.getFirst().endsWith("/bin/java")) {
      return Optional.empty();
    }
    return words.stream()
        .map(PARENT_WORD::matcher)
        .filter(Matcher::matches)
        .map(word -> Long.valueOf(word.group(1)))
        .findFirst();
  }

  /** Jars come before folders, behind which an archive of classes would not be used. */
  private static String absoluteClassPath() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .map(entry -> Path.of(entry).toAbsolutePath())
        .sorted(Comparator.comparing(Files::isDirectory))
        .map(Path::toString)
        .collect(Collectors.joining(File.pathSeparator));
  }
}
