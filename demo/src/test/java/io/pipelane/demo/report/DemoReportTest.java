package io.pipelane.demo.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.ByteSize;
import io.pipelane.demo.plain.Reference;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class DemoReportTest {
  private final StringWriter out = new StringWriter();
  private final DemoReport report = new DemoReport(new PrintWriter(out));

  @Test
  void wholeReport_looksLikeThis() {
    URI server = URI.create("http://127.0.0.1:8000");
    report.begin(2, 101_345_434, ByteSize.ofMebibytes(96), Path.of("/models"));
    report.ready("cuda:0 NVIDIA H200", Duration.ofMillis(3_240));
    report.answer("minilm-l6-v2", "Which is nearest?", "\"Lessons\" (similarity 0.48)");
    report.answer("ppocr-cls", "Is a line upright?", "Yes.");
    report.models(
        List.of(
            new ModelRow("minilm-l6-v2", 42_719_382, 47_668_224, 12, 48.06, 12.34, 0, 1e-5),
            new ModelRow("ppocr-cls", 585_532, 0, 1, 3.3, 2.25, 3.21e-7, 1e-5),
            new ModelRow("ppocr-v4-rec", 10_857_828, 0, 101, 1234.56, 5, 2e-3, 1e-5)),
        Reference.ON_PROCESSOR);
    report.ledger(
        List.of(
            new LedgerRow("weights", 100_663_296),
            new LedgerRow("session constants", 1_234_567),
            new LedgerRow("lanes", 0)));
    report.examples(
        List.of(
            CurlExample.get("What the server speaks", server, "/v2"),
            CurlExample.index("Its models", server),
            CurlExample.infer("Upright?", server, "ppocr-cls", "{\"it's\":1}"),
            CurlExample.infer("Read it", server, "ppocr-v4-rec", Path.of("/a b/c.json"))));

    assertEquals(
        """
        2 real models, 101.3 MB of files, are registered in
          /models
        and served from device memory with room for 100.7 MB of weights.

        Checked, optimised and cut into segments in 3.2 s, for cuda:0 NVIDIA H200.

        minilm-l6-v2
          asked:    Which is nearest?
          answered: "Lessons" (similarity 0.48)
        ppocr-cls
          asked:    Is a line upright?
          answered: Yes.

        model         weights MB  in place MB  groups  cold ms  warm ms  difference
        ------------  ----------  -----------  ------  -------  -------  ----------
        minilm-l6-v2        42.7         47.7      12     48.1     12.3           0
        ppocr-cls            0.6          0.0       1      3.3      2.3       3e-07
        ppocr-v4-rec        10.9          0.0     101   1234.6      5.0   2e-03 (!)

        in place    weights that are read from host memory, a few rows a request; not copied
        groups      copies that bring the weights to the device; early layers run meanwhile
        cold, warm  a request over HTTP, with none and with all of the weights on the device
        difference  from a plain ONNX Runtime session: |a - b| / |b|, equal up to 1e-05

        device memory         MB
        -----------------  -----
        weights            100.7
        session constants    1.2
        lanes                0.0

        Serving until stopped (Ctrl-C). Paste any of these into another terminal:

        # What the server speaks
        curl -s http://127.0.0.1:8000/v2; echo

        # Its models
        curl -s -X POST http://127.0.0.1:8000/v2/repository/index; echo

        # Upright?
        curl -s http://127.0.0.1:8000/v2/models/ppocr-cls/infer -H 'Content-Type: application/json' \\
          -d '{"it'\\''s":1}' | head -c 300; echo

        # Read it
        curl -s http://127.0.0.1:8000/v2/models/ppocr-v4-rec/infer -H 'Content-Type: application/json' \\
          -d '@/a b/c.json' | head -c 300; echo
        """,
        out.toString());
  }
}
