package io.pipelane.server.ensemble;

import io.pipelane.modelstore.repository.Ensemble.Step;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.ensemble.EnsemblePlan.Member;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;

/**
 * What tells an ensemble's content from another's, on any host: a hash of its steps, and of what
 * their models' contents are.
 */
final class EnsembleContent {
  private EnsembleContent() {}

  /** The hash; empty where nobody has said what the content of one of its models is. */
  static String of(List<Member> members, List<String> outputs) {
    StringBuilder text = new StringBuilder();
    for (Member member : members) {
      ServedModel model = member.model();
      if (model.content().isEmpty()) {
        return "";
      }
      Step step = member.step();
      text.append(model.version()).append(' ').append(model.content());
      text.append(new TreeMap<>(step.inputs())).append(new TreeMap<>(step.outputs()));
    }
    return sha256(text.append(outputs).toString());
  }

  private static String sha256(String text) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
