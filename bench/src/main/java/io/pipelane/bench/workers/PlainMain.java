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

  /** What models' sessions take in such a process, beyond what it takes with none. */
  static long sessionBytes(Path work, List<Path> files) throws IOException, InterruptedException {
    return privateBytes(work, files) - privateBytes(work, List.of());
  }

  /** Memory of such a process that no file and no other process shares. */
  private static long privateBytes(Path work, List<Path> files)
      throws IOException, InterruptedException {
    List<String> arguments = files.stream().map(Path::toString).toList();
    try (ChildProcess process =
        ChildProcess.start(work.resolve("plain.log"), PlainMain.class, arguments)) {
      Path status = Path.of("/proc", Long.toString(process.process().pid()), "status");
      return Files.readAllLines(status).stream()
          .filter(line -> line.startsWith("RssAnon:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
          .sum();
    }
  }
}
