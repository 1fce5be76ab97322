package io.pipelane.server;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A thread as Linux knows it.
 *
 * @param name its first fifteen letters
 * @param nice how much less urgent it is than most
 * @param processors that it may use, as Linux lists them
 */
record HostThread(String name, int nice, String processors) {
  private static final Pattern ALLOWED = Pattern.compile("(?m)^Cpus_allowed_list:\\s*(.*)$");

  /** The 19th field of a thread's statistics; the second is a name that may have blanks. */
  private static final int NICE = 16;

  /** Those of a process, by its number or {@code self}, without such as end meanwhile. */
  static List<HostThread> of(String process) throws IOException {
    List<HostThread> threads = new ArrayList<>();
    try (DirectoryStream<Path> tasks =
        Files.newDirectoryStream(Path.of("/proc", process, "task"))) {
      for (Path task : tasks) {
        try {
          threads.add(read(task));
        } catch (NoSuchFileException e) {
          // It has ended.
        } catch (IOException e) {
          if (Files.exists(task)) { // Reading one that ends fails otherwise, too.
            throw e;
          }
        }
      }
    }
    return threads;
  }

  private static HostThread read(Path task) throws IOException {
    String stat = Files.readString(task.resolve("stat"));
    int nameEnd = stat.lastIndexOf(')');
    String[] fields = stat.substring(nameEnd + 2).split(" ", -1);
    Matcher allowed = ALLOWED.matcher(Files.readString(task.resolve("status")));
    return new HostThread(
        stat.substring(stat.indexOf('(') + 1, nameEnd),
        Integer.parseInt(fields[NICE]),
        allowed.find() ? allowed.group(1) : "");
  }
}
