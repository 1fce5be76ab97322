package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import java.util.LinkedHashSet;
import java.util.Set;

/** The weights that an operator wants to be constants, found in what ONNX Runtime says. */
final class Culprits {
  private static final int MINIMUM_NAME_LENGTH = 3;

  private Culprits() {}

  /**
   * The streamed weights that a message is about: those it names, else all that a node it names
   * reads, else all that nodes with an operator it names read; none when it names nothing.
   */
  static Set<String> of(GraphProto graph, Set<String> streamed, String message) {
    Set<String> named = new LinkedHashSet<>();
    Set<String> byNode = new LinkedHashSet<>();
    Set<String> byOperator = new LinkedHashSet<>();
    streamed.stream().filter(name -> names(message, name)).forEach(named::add);
    for (NodeProto node : graph.getNodeList()) {
      Set<String> read = new LinkedHashSet<>(node.getInputList());
      read.retainAll(streamed);
      if (names(message, node.getName())) {
        byNode.addAll(read);
      }
      if (names(message, node.getOpType())) {
        byOperator.addAll(read);
      }
    }
    if (!named.isEmpty()) {
      return named;
    }
    return byNode.isEmpty() ? byOperator : byNode;
  }

  /** Whether a message contains a name, and not just as a part of a longer one. */
  private static boolean names(String message, String name) {
    if (name.length() < MINIMUM_NAME_LENGTH) {
      return false;
    }
    for (int at = message.indexOf(name); at >= 0; at = message.indexOf(name, at + 1)) {
      int end = at + name.length();
      boolean begins = at == 0 || !Character.isLetterOrDigit(message.charAt(at - 1));
      boolean ends = end == message.length() || !Character.isLetterOrDigit(message.charAt(end));
      if (begins && ends) {
        return true;
      }
    }
    return false;
  }
}
