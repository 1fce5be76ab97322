package io.pipelane.loadgen.trace;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.FilesRead;
import io.pipelane.loadgen.settings.Trace;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Traces as files of comma-separated lines {@code time,model[,batch]}, the time in seconds from the
 * beginning. A line that names the columns may come first; empty lines and those that begin with
 * {@code #} are passed over.
 */
public final class TraceFile {
  private static final String HEADER = "time,model,batch";

  private TraceFile() {}

  /**
   * Reads a trace, sorted by time.
   *
   * @param read is told of the file
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the file cannot be read, or a line
   *     of it is none of a trace; the message has the line's number
   */
  public static List<TracedRequest> read(Path file, FilesRead read) {
    List<TracedRequest> requests = new ArrayList<>();
    Map<String, String> names = new HashMap<>();
    try (BufferedReader lines = read.open(file)) {
      int number = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        number++;
        boolean isHeader = requests.isEmpty() && line.strip().startsWith("time");
        if (!line.isBlank() && !line.startsWith("#") && !isHeader) {
          requests.add(parse(file, number, line, names));
        }
        if (requests.size() > Trace.MAXIMUM_REQUESTS) {
          throw wrong(file + " holds more than " + Trace.MAXIMUM_REQUESTS + " requests");
        }
      }
    } catch (NoSuchFileException e) {
      throw wrong("there is no trace " + file);
    } catch (IOException e) {
      throw wrong("cannot read the trace " + file + ": " + e);
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

  /**
   * @param names of models so far, so that a long trace holds each of them once
   */
  private static TracedRequest parse(
      Path file, int number, String line, Map<String, String> names) {
    String[] columns = line.strip().split(",", -1);
    try {
      if (columns.length == 2 || columns.length == 3) {
        return new TracedRequest(
            Double.parseDouble(columns[0].strip()),
            names.computeIfAbsent(columns[1].strip(), name -> name),
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
