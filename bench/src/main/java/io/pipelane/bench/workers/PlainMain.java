package io.pipelane.bench.workers;

import io.pipelane.bench.local.PlainModel;
import io.pipelane.bench.process.ChildProcess;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The program of a process that keeps models as plain ONNX Runtime sessions, until its standard
 * input ends. Its arguments are the models' files.
 */
public final class PlainMain {
  private PlainMain() {}

  public static void main(String[] arguments) throws Exception {
    List<PlainModel> kept = new ArrayList<>();
    for (String file : arguments) {
      kept.add(new PlainModel(Path.of(file), List.of()));
    }
    System.out.println("Listening on nothing:" + kept.size());
    System.out.flush();
    System.in.transferTo(OutputStream.nullOutputStream());
    for (PlainModel model : kept) {
      model.close();
    }
  }

  /**
   * What models' sessions take in so many such processes, which are there at the same time, beyond
   * what those take with none.
   */
  static long sessionBytes(Path work, List<Path> files, int processes)
      throws IOException, InterruptedException {
    return privateBytes(work, files, processes) - privateBytes(work, List.of(), processes);
  }

  /**
   * Memory of such processes, all together, that no file and no other process shares: starts one,
   * then the others while it is there.
   */
  private static long privateBytes(Path work, List<Path> files, int processes)
      throws IOException, InterruptedException {
    if (processes == 0) {
      return 0;
    }
    List<String> arguments = files.stream().map(Path::toString).toList();
    Path log = work.resolve("plain-%d.log".formatted(processes));
    try (ChildProcess process = ChildProcess.start(log, PlainMain.class, arguments)) {
      long others = privateBytes(work, files, processes - 1);
      return others + privateBytes(process.process().pid());
    }
  }

  private static long privateBytes(long pid) throws IOException {
    return Files.readAllLines(Path.of("/proc", Long.toString(pid), "status")).stream()
        .filter(line -> line.startsWith("RssAnon:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
        .sum();
  }
}
