package io.pipelane.loadgen.trace;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.settings.Trace;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * Traces as files of comma-separated lines {@code time,model[,batch]}, the time in seconds from the
 * beginning. The first line may name the columns; empty lines and those that begin with {@code #}
 * are passed over.
 */
public final class TraceFile {
  private static final String HEADER = "time,model,batch";

  private TraceFile() {}

  /**
   * Reads a trace, sorted by time.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when there is no such file, or a line
   *     of it is none of a trace; the message has the line's number
   */
  public static List<TracedRequest> read(Path file) throws IOException {
    List<TracedRequest> requests = new ArrayList<>();
    try (BufferedReader lines = Files.newBufferedReader(file)) {
      int number = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        number++;
        boolean isHeader = number == 1 && line.strip().startsWith("time");
        if (!line.isBlank() && !line.startsWith("#") && !isHeader) {
          requests.add(parse(file, number, line));
        }
        if (requests.size() > Trace.MAXIMUM_REQUESTS) {
          throw wrong(file + " holds more than " + Trace.MAXIMUM_REQUESTS + " requests");
        }
      }
    } catch (NoSuchFileException e) {
      throw wrong("there is no trace " + file);
    }
    if (requests.isEmpty()) {
      throw wrong(file + " holds no request; write lines like 0.25,resnet50,1");
    }
    requests.sort(Comparator.comparingDouble(TracedRequest::seconds));
    return requests;
  }

  /** Writes a trace, times to the microsecond. */
  public static void write(Path file, List<TracedRequest> requests) throws IOException {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
      out.println(HEADER);
      for (TracedRequest request : requests) {
        out.printf(
            Locale.ROOT, "%.6f,%s,%d%n", request.seconds(), request.model(), request.batch());
      }
      if (out.checkError()) {
        throw new IOException("cannot write " + file);
      }
    }
  }

  private static TracedRequest parse(Path file, int number, String line) {
    String[] columns = line.strip().split(",", -1);
    try {
      if (columns.length == 2 || columns.length == 3) {
        return new TracedRequest(
            Double.parseDouble(columns[0].strip()),
            columns[1].strip(),
            columns.length == 3 ? Integer.parseInt(columns[2].strip()) : 1);
      }
      throw new IllegalArgumentException("it has " + columns.length + " columns");
    } catch (IllegalArgumentException e) {
      throw wrong(
          "%s, line %d: \"%s\" is not time,model[,batch]: %s"
              .formatted(file, number, line, e.getMessage()));
    }
  }

  private static StatusException wrong(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, message);
  }
}
