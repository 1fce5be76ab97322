package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** An inference's answer for people to read. */
final class AnswerText {
  private static final int SHOWN_VALUES = 12;

  private AnswerText() {}

  static void print(JsonNode answer, PrintWriter out) {
    out.println(
        answer.path("model_name").asText() + ", version " + answer.path("model_version").asText());
    LeftAlignedTable table = new LeftAlignedTable("OUTPUT", "TYPE", "SHAPE", "VALUES");
    for (JsonNode output : answer.path("outputs")) {
      table.add(
          output.path("name").asText(),
          output.path("datatype").asText(),
          output.path("shape").toString(),
          values(output.path("data")));
    }
    table.print(out);
  }

  private static String values(JsonNode data) {
    List<String> values = new ArrayList<>();
    collect(data, values);
    int more = values.size() - SHOWN_VALUES;
    return String.join(" ", values.subList(0, Math.min(values.size(), SHOWN_VALUES)))
        + (more > 0 ? " ... and " + more + " more (--json shows all)" : "");
  }

  private static void collect(JsonNode node, List<String> into) {
    if (node.isArray()) {
      node.forEach(child -> collect(child, into));
    } else {
      into.add(node.toString());
    }
  }
}
