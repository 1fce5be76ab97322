package io.pipelane.bench.salus;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** The 45 workloads of Salus' table 2; where their figures come from is said in the file itself. */
public final class Workloads {
  private static final String COMMENT = "#";
  private static final String HEADING = "model,";

  private final List<Workload> all;

  private Workloads(List<Workload> all) {
    this.all = all;
  }

  /** Reads the list that comes with the program. */
  public static Workloads read() throws IOException {
    try (InputStream file = Workloads.class.getResourceAsStream("workloads.csv")) {
      String text = new String(Objects.requireNonNull(file).readAllBytes(), StandardCharsets.UTF_8);
      return new Workloads(
          text.lines()
              .filter(line -> !line.startsWith(COMMENT) && !line.startsWith(HEADING))
              .map(Workload::parse)
              .toList());
    }
  }

  /** All of them, in the paper's order. */
  public List<Workload> all() {
    return all;
  }

  /**
   * One of them.
   *
   * @throws IllegalArgumentException when there is none of that name
   */
  public Workload named(String name) {
    return all.stream()
        .filter(workload -> workload.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("there is no workload " + name));
  }
}
