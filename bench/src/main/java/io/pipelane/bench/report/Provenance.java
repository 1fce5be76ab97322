package io.pipelane.bench.report;

import io.pipelane.loadgen.report.Build;
import io.pipelane.loadgen.report.Machine;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The provenance that a figure has to be read with: when, on what, of which state of the source.
 */
public final class Provenance {
  private Provenance() {}

  /** Names and values, for people and programs. */
  public static Map<String, String> now(String runtimeVersion) {
    Machine machine = Machine.current();
    Map<String, String> values = new LinkedHashMap<>();
    values.put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    values.put("commit", Build.current().commit());
    values.put("processor", machine.processor());
    values.put("cores", Integer.toString(machine.cores()));
    values.put("operating_system", machine.operatingSystem());
    values.put("java", machine.java());
    values.put("onnxruntime", runtimeVersion);
    return values;
  }
}
