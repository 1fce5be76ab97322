package io.pipelane.bench.ensemble;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench ensemble}. */
final class EnsembleColumns {
  static final Column BETWEEN = new Column("between_mb", "MB between steps", 2);
  static final Column BY_HOST = new Column("by_host_ms", "by host memory ms", 3);
  static final Column KEPT = new Column("kept_ms", "kept ms", 3);
  static final Column RATIO = new Column("kept_to_by_host", "kept/by host", 3);
  static final Column STAYED = new Column("kept_tensors_a_request", "kept a request", 2);

  static final List<Column> ALL = List.of(BETWEEN, BY_HOST, KEPT, RATIO, STAYED);

  static final String TITLE = "Ensembles whose tensors stay on the device, or go through the host";

  static final List<String> NOTES =
      List.of(
          "Medians of one caller's latency, in this process and without HTTP: the same ensemble on"
              + " two servers, with device.ensemble-memory and with 0, in short turns.",
          "steps: three models of one elementwise operator each, which are all memory traffic."
              + " picture: a UINT8 picture to what PP-OCR's detector takes, the detector, and a"
              + " threshold.");

  private EnsembleColumns() {}
}
